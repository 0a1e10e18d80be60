import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { scratchDirectory } from '../../../testing/scratch.js';
import { RunFiles } from './run-files.js';

it('what is left of a run goes, directories that its job has closed too', async () => {
  const directory = scratchDirectory('run-files');
  try {
    const files = new RunFiles(directory.path);
    const closed = join(files.scratch('a'), 'closed', 'inner');
    mkdirSync(closed, { recursive: true });
    mkdirSync(files.scratch('b'), { recursive: true });
    writeFileSync(join(closed, 'file'), '');
    chmodSync(closed, 0);
    files.remove('a');
    await expect.poll(() => existsSync(files.scratch('a'))).toBe(false);
    expect(existsSync(files.scratch('b'))).toBe(true);
  } finally {
    directory.remove();
  }
});
