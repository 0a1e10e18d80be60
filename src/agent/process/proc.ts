import { readdirSync, readFileSync } from 'node:fs';

/** What /proc says of a process. */
export interface ProcStat {
  readonly parent: number;
  readonly startTicks: number;
  readonly isZombie: boolean;
}

/** Undefined: there is no such process. */
export function statOf(pid: number): ProcStat | undefined {
  const text = readOr(`/proc/${pid}/stat`);
  if (text === undefined) return undefined;
  // The name in parentheses may hold anything, parentheses too.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state, parent] = fields;
  return { parent: Number(parent), startTicks: Number(fields[19]), isZombie: state === 'Z' || state === 'X' };
}

export function childrenOf(pid: number): number[] {
  const text = readOr(`/proc/${pid}/task/${pid}/children`);
  if (text !== undefined) return text.split(' ').filter(Boolean).map(Number);
  // Kernels without that file.
  return allPids().filter((each) => statOf(each)?.parent === pid);
}

export const allPids = (): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);

/** Another after each start of the machine. */
export const bootId = (): string => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();

/** Sends a signal; false if nobody is there to get it. A negative pid is a process group. */
export function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    process.kill(pid, name);
    return true;
  } catch {
    return false;
  }
}

export function readOr(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
