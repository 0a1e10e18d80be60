import { spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { fixturePath } from '../../../testing/run-process.js';
import { scratchDirectory } from '../../../testing/scratch.js';

const listed = 'ls -l /proc/self/fd; echo said >&2; exit 3';
// Node closes what it inherits for its own programs only up to the first gap: the data file of LMDB is beyond it as a rule.
const high = 40;
const program = (start: string): string => `
  const { spawn } = await import('node:child_process');
  const { spawnAlone } = await import(${JSON.stringify(fixturePath(import.meta.url, 'spawn-alone.js'))});
  const child = ${start}('sh', ['-c', ${JSON.stringify(listed)}], { stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.pipe(process.stdout);
  child.stderr.pipe(process.stderr);
  child.once('close', (code) => process.exit(code));`;

it('a program that is started alone has no file of its starter open; one that is started otherwise has', () => {
  const scratch = scratchDirectory('spawn-alone');
  const file = join(scratch.path, 'store');
  const descriptor = openSync(file, 'w+');
  const ran = (start: string) => {
    const between = Array.from({ length: high - 3 }, () => 'ignore' as const);
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      ['--input-type=module', '-e', program(start)],
      { stdio: ['ignore', 'pipe', 'pipe', ...between, descriptor] },
    );
    return { status, stdout: stdout.toString(), stderr: stderr.toString() };
  };
  try {
    expect(ran('spawn').stdout).toContain(`${high} -> ${file}`);
    const alone = ran('spawnAlone');
    expect([alone.status, alone.stderr]).toEqual([3, 'said\n']);
    expect(alone.stdout).toContain(`${high} -> /dev/null`);
    expect(alone.stdout).not.toContain(file);
  } finally {
    closeSync(descriptor);
    scratch.remove();
  }
});
