import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A directory of its own on a real disk, and how to remove it. */
export function scratchDirectory(name: string): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), `berth-${name}-`));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}
