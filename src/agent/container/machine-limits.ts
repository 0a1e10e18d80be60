import { readFileSync } from 'node:fs';
import type { MachineLimits } from './container-spec.js';

/** The limits that the agent itself has: an engine beside it can seldom give more. */
export function machineLimits(): MachineLimits {
  const text = readFileSync('/proc/self/limits', 'utf8');
  return { openFilesMax: hardLimit(text, 'Max open files'), processesMax: hardLimit(text, 'Max processes') };
}

/** One line of /proc/PID/limits: name, soft, hard, unit. */
export function hardLimit(limits: string, name: string): number {
  const line = limits.split('\n').find((each) => each.startsWith(name)) ?? '';
  const [, hard = 'unlimited'] = line.slice(name.length).trim().split(/\s+/);
  return hard === 'unlimited' ? Number.MAX_SAFE_INTEGER : Number(hard);
}
