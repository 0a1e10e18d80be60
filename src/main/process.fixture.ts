import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fixturePath } from '../../testing/run-process.js';

export const program = fixturePath(import.meta.url, '../cli/berth.js');

export interface BerthProcess {
  readonly child: ChildProcess;
  /** Its ready line. */
  readonly said: string;
  readonly url: string;
  readonly kubeconfig: string;
  /** What it has said on standard error so far. */
  complained(): string;
  /** Its exit code, or the signal that ended it. */
  readonly ended: Promise<number | string>;
}

/** Starts `berth up`, `server` or `agent` in a process of its own, after other words if any, and waits for its ready line. */
export async function startBerth(
  words: readonly string[],
  before: readonly string[] = [],
  at = program,
): Promise<BerthProcess> {
  const [first = '', ...rest] = [...before, process.execPath, at, ...words];
  const child = spawn(first, rest, { stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  let complained = '';
  child.stderr.on('data', (chunk: Buffer) => (complained += chunk.toString()));
  const ended = new Promise<number | string>((resolve) =>
    child.once('close', (code, signal) => resolve(code ?? signal ?? '')),
  );
  await new Promise<void>((resolve, reject) => {
    child.stdout.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      if (said.includes('\n')) resolve();
    });
    void ended.then((code) => reject(new Error(`ended with ${code}: ${complained}`)));
  });
  const [, url = '', kubeconfig = ''] = /^ready (\S+) \(kubeconfig: (.*)\)\n$/.exec(said) ?? [];
  return { child, said, url, kubeconfig, ended, complained: () => complained };
}

/** Ends the supervisor of an agent's directory and its jobs, if a test that failed has left them. */
export function endSupervisor(dir: string): void {
  try {
    process.kill(Number(readFileSync(join(dir, 'supervisor/lock'), 'utf8')), 'SIGTERM');
  } catch {
    // It is gone, as it should be.
  }
}
