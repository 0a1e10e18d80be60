import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { scratchDirectory } from './scratch.js';

/** The compiled file of a test fixture, given the URL of the test beside it. */
export const fixturePath = (testUrl: string, name: string): string =>
  fileURLToPath(new URL(`./${name}`, testUrl));

export interface Ran {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export function run(command: string, words: readonly string[]): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, words, { stdio: ['ignore', 'pipe', 'pipe'] });
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
    child.once('error', reject);
    child.once('close', (status) =>
      resolve({ status, stdout: Buffer.concat(out).toString(), stderr: Buffer.concat(err).toString() }),
    );
  });
}

/** Runs node under strace; `options` are strace's. Returns what strace saw, as lines in the order things happened. */
export async function straceNode(
  options: readonly string[],
  words: readonly string[],
): Promise<Ran & { readonly trace: readonly string[] }> {
  if (spawnSync('strace', ['--version']).error !== undefined) {
    throw new Error('strace is not installed: make test-setup installs it');
  }
  const scratch = scratchDirectory('strace');
  try {
    const traceFile = join(scratch.path, 'trace');
    const ran = await run('strace', ['-f', '-o', traceFile, ...options, process.execPath, ...words]);
    return { ...ran, trace: readFileSync(traceFile, 'latin1').split('\n') };
  } finally {
    scratch.remove();
  }
}
