/** The control groups that a process is in, as /proc/self/cgroup lists them: by controller, and v2's under ''. */
export function groupsOf(listing: string): ReadonlyMap<string, string> {
  const groups = new Map<string, string>();
  for (const line of listing.split('\n')) {
    const [, controllers, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (controllers === undefined || path === undefined) continue;
    for (const controller of controllers.split(',')) groups.set(controller, path);
  }
  return groups;
}

/** A group and all above it: each may set a limit, and the least counts. */
export function withParents(path: string): readonly string[] {
  const parts = path.split('/').filter((part) => part !== '');
  return [...parts.map((_, index) => `/${parts.slice(0, parts.length - index).join('/')}`), '/'];
}

/** memory.max or memory.limit_in_bytes; undefined: no limit. Version 1 says so with a number that no machine has. */
export function memoryLimit(text: string | undefined): number | undefined {
  const bytes = Number(text?.trim() ?? Number.NaN);
  return Number.isFinite(bytes) && bytes > 0 && bytes < 2 ** 60 ? bytes : undefined;
}

/** cpu.max ("200000 100000"), in thousandths of a core; undefined: no limit. */
export function cpuLimit(text: string | undefined): number | undefined {
  const [quota = Number.NaN, period = Number.NaN] = (text ?? '').trim().split(/\s+/).map(Number);
  return quota > 0 && period > 0 ? (quota / period) * 1_000 : undefined;
}
