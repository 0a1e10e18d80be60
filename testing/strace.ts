import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Ran, run } from './run-process.js';
import { scratchDirectory } from './scratch.js';

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
