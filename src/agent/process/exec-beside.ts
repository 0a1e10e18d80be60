import { spawn } from 'node:child_process';
import { readlinkSync } from 'node:fs';
import type { TerminalSize } from '../../model/sessions.js';
import type { ExecEars, ExecRequest, ExecSession } from '../runner.js';
import { latestOnly } from '../latest-only.js';
import { childrenOf } from './proc.js';

/** Runs a command line for a session: with pipes, or on a terminal that `script` makes. */
export function execBeside(
  line: readonly [string, ...string[]],
  { tty }: Pick<ExecRequest, 'tty'>,
  ears: ExecEars,
  directory: string,
): ExecSession {
  const [program, ...words] = tty === undefined ? line : onTerminal(line, tty);
  const child = spawn(program, words, { cwd: directory, stdio: 'pipe', detached: true });
  let isOver = false;
  const over = (code: number | undefined, message?: string): void => {
    if (isOver) return;
    isOver = true;
    ears.onExit(code, message);
  };
  child.stdout.on('data', (bytes: Buffer) => ears.onOutput('stdout', bytes));
  child.stderr.on('data', (bytes: Buffer) => ears.onOutput('stderr', bytes));
  child.stdin.on('error', () => undefined);
  child.once('error', (error) => over(undefined, error.message));
  child.once('close', (code, signal) => {
    if (signal !== null) over(undefined, `ended by ${signal}`);
    else over(code ?? undefined);
  });
  const resized = latestOnly(({ columns, rows }: TerminalSize, done) =>
    child.pid === undefined ? done() : resizeTerminal(child.pid, columns, rows, done),
  );
  return {
    write: (bytes, onTaken) => {
      // What is not taken any more is as good as taken: its end is told by itself.
      child.stdin.write(bytes, () => onTaken());
    },
    end: () => void child.stdin.end(),
    resize: (columns, rows) => {
      if (tty !== undefined) resized({ columns, rows });
    },
    pause: () => {
      child.stdout.pause();
      child.stderr.pause();
    },
    resume: () => {
      child.stdout.resume();
      child.stderr.resume();
    },
    // Its whole group: nsenter waits for the command it has put into the namespace.
    kill: () => {
      if (child.pid === undefined || isOver) return;
      for (const pid of [...childrenOf(child.pid), -child.pid])
        try {
          process.kill(pid, 'SIGKILL');
        } catch {
          // It has ended meanwhile.
        }
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
