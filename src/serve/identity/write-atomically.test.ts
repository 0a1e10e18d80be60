import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { scratchDirectory } from '../../../testing/scratch.js';
import { writeAtomically } from './write-atomically.js';

let scratch: ReturnType<typeof scratchDirectory>;
let path: string;
beforeEach(() => {
  scratch = scratchDirectory('atomic');
  path = join(scratch.path, 'file');
});
afterEach(() => scratch.remove());

describe('a file written atomically', () => {
  it('is there whole, for its owner alone, even where one with other rights was before', async () => {
    writeFileSync(path, 'old', { mode: 0o644 });
    writeFileSync(`${path}.new`, 'left by a crash', { mode: 0o644 });
    await writeAtomically(path, 'new');
    expect(readFileSync(path, 'utf8')).toBe('new');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readdirSync(scratch.path)).toEqual(['file']);
  });

  it('is untouched when the write fails', async () => {
    writeFileSync(path, 'old');
    mkdirSync(`${path}.new`);
    await expect(writeAtomically(path, 'new')).rejects.toThrow('file.new');
    expect(readFileSync(path, 'utf8')).toBe('old');
  });
});
