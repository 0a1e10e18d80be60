import { chmodSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { BerthError } from '../model/errors.js';

const ownerBits = 0o700;
const passBits = 0o011;
const stickyBit = 0o1000;

/** Entries of a directory of Berth, by the names they begin with. */
export interface Entries {
  /** Others may pass through these, and list none of them. */
  readonly passages: readonly string[];
  readonly closed: readonly string[];
}

export const serverEntries: Entries = {
  passages: ['agent'],
  closed: ['audit.log', 'decisions', 'kubeconfig', 'lock', 'pki', 'store'],
};

export const agentEntries: Entries = {
  passages: ['scratch'],
  closed: [
    ...['container-engine', 'identity.json', 'journal', 'lock', 'logs', 'metrics-token', 'pipes', 'refusals'],
    ...['runs', 'supervisor'],
  ],
};

/**
 * Makes a directory of Berth if it is missing, and closes it to all other users, whatever an earlier version or an operator
 * has left open. With `entries` others may pass through it, on their way to what is theirs; what else Berth keeps there is
 * closed. Files that are not Berth's are left alone. Only the first level is looked at: nobody gets below a closed entry.
 */
export function closeDirectory(dir: string, entries?: Entries): void {
  mkdirSync(dir, { recursive: true, mode: ownerBits });
  if ((statSync(dir).mode & stickyBit) !== 0)
    throw new BerthError('DirectoryOpen', `${dir} is shared by all users; choose a directory of its own`);
  close(dir, entries !== undefined);
  if (entries === undefined) return;
  const { passages, closed } = entries;
  for (const name of readdirSync(dir)) {
    const isOwn = closed.some((own) => name === own || name.startsWith(`${own}.`));
    if (isOwn || passages.includes(name)) close(join(dir, name), !isOwn);
  }
}

function close(path: string, isPassage: boolean): void {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return;
  const wanted = (stat.mode & ownerBits) | (isPassage ? passBits : 0);
  if ((stat.mode & 0o7777) === wanted) return;
  try {
    chmodSync(path, wanted);
  } catch (cause) {
    throw new BerthError(
      'DirectoryOpen',
      `${path} is open to other users (mode ${shown(stat.mode)}), and its mode cannot be changed: ${(cause as Error).message}; run Berth as its owner, or choose another directory`,
      { cause },
    );
  }
}

/** The nearest directory above that other users may not enter, with its mode; undefined if they get here. */
export function closedAbove(dir: string): string | undefined {
  let path = resolve(dir);
  while (path !== dirname(path)) {
    path = dirname(path);
    const { mode } = statSync(path);
    if ((mode & 0o001) === 0) return `${path} (mode ${shown(mode)})`;
  }
  return undefined;
}

const shown = (mode: number): string => (mode & 0o777).toString(8).padStart(3, '0');
