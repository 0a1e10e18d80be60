const keys = 500_000;
// A step that shares no factor with their number: every key once, none beside the last.
const step = 7_919;

/**
 * How long one look-up takes in a map of half a million texts, in an order that no cache of the processor foresees. What a
 * cell does all the time, and what varies most from hour to hour on a machine that is shared: rates of a busy main thread
 * are read beside it.
 */
export function lookUpNs(): number {
  const map = new Map<string, { readonly at: number }>();
  const names: string[] = [];
  for (let at = 0; at < keys; at++) {
    const name = `/s/Replica/tenant/work-${at}-1`;
    names.push(name);
    map.set(name, { at });
  }
  let sum = 0;
  const once = (): number => {
    const startedAt = performance.now();
    for (let at = 0; at < keys; at++) sum += map.get(names[(at * step) % keys] as string)?.at ?? 0;
    return ((performance.now() - startedAt) * 1e6) / keys;
  };
  const taken = [once(), once(), once()].toSorted((a, b) => a - b);
  if (sum !== 3 * ((keys * (keys - 1)) / 2)) throw new Error('a key was not found');
  return taken[1] as number;
}
