import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

// In the project, not in the system's temporary directory: that may be memory, where nothing is ever flushed.
const parent = fileURLToPath(new URL('../../.scratch/', import.meta.url));

/** A directory of its own on the project's disk, and how to remove it. */
export function scratchDirectory(name: string): { readonly path: string; remove(): void } {
  mkdirSync(parent, { recursive: true });
  const path = mkdtempSync(join(parent, `${name}-`));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}
