import { createHash } from 'node:crypto';
import { realpathSync } from 'node:fs';

/** Keeps the control groups of agents on one machine apart. */
export const cgroupName = (dir: string): string =>
  createHash('sha256').update(realpathSync(dir)).digest('hex').slice(0, 12);
