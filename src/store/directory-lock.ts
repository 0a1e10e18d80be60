import { spawnSync } from 'node:child_process';
import { closeSync, openSync, readFileSync, truncateSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { BerthError } from '../model/errors.js';

/**
 * Takes a directory for this process alone until it is released or the process ends, however it ends: the
 * kernel holds the lock, so a killed process leaves nothing behind that has to be cleaned up or guessed about.
 *
 * Node cannot call flock(2) itself. An flock belongs to the open file, not to the process that asked for it,
 * so flock(1) takes it on a descriptor it inherits from us, exits, and the lock stays with our descriptor.
 */
export function lockDirectory(dir: string): { release(): void } {
  const path = join(dir, 'lock');
  const descriptor = openSync(path, 'a+', 0o600);
  const taken = spawnSync('flock', ['--exclusive', '--nonblock', '--conflict-exit-code', '75', '3'], {
    stdio: ['ignore', 'ignore', 'pipe', descriptor],
  });
  if (taken.status !== 0) {
    const holder = readFileSync(path, 'latin1').trim();
    closeSync(descriptor);
    if (taken.status === 75) {
      throw new BerthError(
        'StoreLocked',
        `${dir} is in use by process ${holder || '(unknown)'}; one process per directory`,
      );
    }
    const why = taken.error?.message ?? taken.stderr.toString().trim();
    throw new BerthError('StoreUnavailable', `cannot lock ${dir}: flock from util-linux failed: ${why}`);
  }
  truncateSync(path);
  writeSync(descriptor, `${process.pid}\n`);
  return { release: () => closeSync(descriptor) };
}
