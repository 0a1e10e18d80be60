import { readFileSync, writeFileSync } from 'node:fs';
import { realEnv } from '../env/real.js';
import { runProgram } from './program.js';

/** A command line, and the directory and the settings it runs with. */
export interface Case {
  readonly words: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

export interface CaseEnd {
  readonly words: readonly string[];
  /** Undefined: the command did not end in time. */
  readonly status: number | undefined;
  readonly output: string;
}

/**
 * Runs many command lines in one process, `node bad-input.fixture.js CASES ENDS` (files of JSON): a process for each would
 * take longer to start than the command takes.
 */
const [casesFile = '', endsFile = ''] = process.argv.slice(2);
const caseMsMax = 20_000;
const env = realEnv();
const exit = process.exit.bind(process);

class Exit extends Error {}

async function endOf({ words, cwd, env: settings }: Case): Promise<CaseEnd> {
  let output = '';
  const write = (chunk: unknown, ...more: readonly unknown[]): boolean => {
    output += String(chunk);
    for (const each of more) if (typeof each === 'function') (each as () => void)();
    return true;
  };
  process.stdout.write = write;
  process.stderr.write = write;
  process.exit = (code) => {
    process.exitCode = code ?? process.exitCode;
    throw new Exit();
  };
  process.exitCode = 0;
  process.env = { PATH: process.env['PATH'], ...settings };
  process.chdir(cwd);
  let hasEnded = false;
  const running = runProgram(words)
    .catch((error: unknown) => {
      if (!(error instanceof Exit)) output += `defect: escaped: ${String(error)}`;
    })
    .finally(() => (hasEnded = true));
  const stop = new AbortController();
  await Promise.race([running, env.sleep(caseMsMax, stop.signal).catch(() => undefined)]);
  stop.abort();
  return { words, status: hasEnded ? exitStatus() : undefined, output };
}

const exitStatus = (): number => Number(process.exitCode ?? 0);

const unexpected: string[] = [];
process.on('uncaughtException', (error) => {
  if (!(error instanceof Exit)) unexpected.push(error.message);
});

const ends: CaseEnd[] = [];
for (const one of JSON.parse(readFileSync(casesFile, 'utf8')) as readonly Case[]) {
  const { words, status, output } = await endOf(one);
  const escaped = unexpected.splice(0).map((message) => `\ndefect: uncaught: ${message}`);
  ends.push({ words, status, output: output + escaped.join('') });
}
writeFileSync(endsFile, JSON.stringify(ends));
exit(0);
