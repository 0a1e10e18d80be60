import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';

// The kernel's own bound on the name of a socket, less its end.
const nameBytesMax = 107;

/** Calls back with a name for a socket in a directory. A directory with a long name is reached through a descriptor. */
export function withSocketPath<T>(dir: string, use: (path: string) => T): T {
  const path = join(dir, 'supervisor.sock');
  if (Buffer.byteLength(path) <= nameBytesMax) return use(path);
  const descriptor = openSync(dir, 'r');
  try {
    return use(`/proc/self/fd/${descriptor}/supervisor.sock`);
  } finally {
    closeSync(descriptor);
  }
}
