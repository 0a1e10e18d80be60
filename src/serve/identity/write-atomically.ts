import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Puts a file in place whole or not at all, readable by its owner alone, and returns when a power cut cannot
 * undo it. A crash on the way leaves at most the file's neighbour `.new`, which the next write replaces.
 */
export async function writeAtomically(path: string, text: string): Promise<void> {
  const temporary = `${path}.new`;
  await rm(temporary, { force: true });
  const file = await open(temporary, 'wx', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
  const directory = await open(dirname(path), 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
