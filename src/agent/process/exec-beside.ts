import { spawn } from 'node:child_process';
import { readlinkSync } from 'node:fs';
import type { Env } from '../../env/env.js';
import type { TerminalSize } from '../../model/sessions.js';
import type { ExecEars, ExecRequest, ExecSession } from '../runner.js';
import { latestOnly } from '../latest-only.js';
import { childrenOf, signal } from './proc.js';
import { spawnAlone } from './spawn-alone.js';

/** Where a command runs, and how all that it starts is found. */
export interface Beside {
  readonly directory: string;
  readonly variables: Readonly<Record<string, string>>;
  /** Every process of it, wherever it went. */
  pids(): readonly number[];
  /** It is over. */
  onOver(): void;
  readonly env: Pick<Env, 'after'>;
}

// What is being ended may start something meanwhile: it is looked again so often, and then given up. It ends with the job.
const looksMax = 40;
const lookMs = 25;

/** Runs a command line for a session: with pipes, or on a terminal that `script` makes. */
export function execBeside(
  line: readonly [string, ...string[]],
  { tty }: Pick<ExecRequest, 'tty'>,
  ears: ExecEars,
  beside: Beside,
): ExecSession {
  const { directory: cwd, variables } = beside;
  const [program, ...words] = tty === undefined ? line : onTerminal(line, tty);
  const env = tty === undefined ? variables : { TERM: 'xterm', ...variables };
  const child = spawnAlone(program, words, { cwd, env, stdio: ['pipe', 'pipe', 'pipe'], detached: true });
  const { stdin, stdout, stderr } = child;
  let isOver = false;
  let isKilled = false;
  const over = (code: number | undefined, message?: string): void => {
    if (isOver) return;
    isOver = true;
    if (!isKilled) beside.onOver();
    ears.onExit(code, message);
  };
  stdout?.on('data', (bytes: Buffer) => ears.onOutput('stdout', bytes));
  stderr?.on('data', (bytes: Buffer) => ears.onOutput('stderr', bytes));
  stdin?.on('error', () => undefined);
  child.once('error', (error) => over(undefined, error.message));
  child.once('close', (code, by) => {
    if (by !== null) over(undefined, `ended by ${by}`);
    else over(code ?? undefined);
  });
  const resized = latestOnly(({ columns, rows }: TerminalSize, done) =>
    child.pid === undefined ? done() : resizeTerminal(child.pid, columns, rows, done),
  );
  const endAll = (looks: number): void => {
    // Those of its group stand around the command: what has put it into the namespace, or on a terminal.
    const isThere = child.pid !== undefined && child.exitCode === null && child.signalCode === null;
    if (isThere) signal(-(child.pid ?? 0), 'SIGKILL');
    const pids = beside.pids();
    for (const pid of pids) signal(pid, 'SIGKILL');
    if ((isThere || pids.length > 0) && looks < looksMax) beside.env.after(lookMs, () => endAll(looks + 1));
    else beside.onOver();
  };
  return {
    write: (bytes, onTaken) => {
      // What is not taken any more is as good as taken: its end is told by itself.
      if (stdin === null) onTaken();
      else stdin.write(bytes, () => onTaken());
    },
    end: () => void stdin?.end(),
    resize: (columns, rows) => {
      if (tty !== undefined) resized({ columns, rows });
    },
    pause: () => {
      stdout?.pause();
      stderr?.pause();
    },
    resume: () => {
      stdout?.resume();
      stderr?.resume();
    },
    kill: () => {
      if (isOver || isKilled) return;
      isKilled = true;
      endAll(0);
      // Whoever is left and holds the other ends keeps nobody here.
      for (const stream of [stdin, stdout, stderr]) stream?.destroy();
      child.unref();
    },
  };
}

function onTerminal(
  line: readonly string[],
  { columns, rows }: NonNullable<ExecRequest['tty']>,
): readonly [string, ...string[]] {
  const words = line.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
  const text = `stty columns ${Math.trunc(columns)} rows ${Math.trunc(rows)}; exec ${words}`;
  return ['script', '--quiet', '--flush', '--return', '--command', text, '/dev/null'];
}

function resizeTerminal(script: number, columns: number, rows: number, done: () => void): void {
  const [inside] = childrenOf(script);
  let terminal = '';
  try {
    terminal = readlinkSync(`/proc/${inside}/fd/0`);
  } catch {
    // It has ended meanwhile.
  }
  if (!terminal.startsWith('/dev/pts/')) return done();
  const words = ['-F', terminal, 'columns', String(Math.trunc(columns)), 'rows', String(Math.trunc(rows))];
  spawn('stty', words, { stdio: 'ignore' })
    .once('error', () => undefined)
    .once('close', () => done());
}
