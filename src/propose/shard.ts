/** Which of several schedulers a workload belongs to. Whole workloads, so that a gang is never split. */
export function shardOf(tenant: string, workload: string, shards: number): number {
  // FNV-1a over UTF-16 units: spreads short, similar names well and needs nothing.
  let hash = 0x811c9dc5;
  const text = `${tenant}/${workload}`;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return (hash >>> 0) % shards;
}

/** The lease of a shard. One scheduler alone has the plain name. */
export const shardLease = (shard: number, shards: number): string =>
  shards === 1 ? 'scheduler' : `scheduler-${shard}`;
