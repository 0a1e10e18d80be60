import type { NodeFilter, View } from './filter.js';

/** Whether a node was last heard of longer ago than the workload allows. Of one that nobody has aged yet the gate decides. */
export const isStale = ({ cls, nodes, ages }: View, row: number): boolean => {
  const ageMs = ages(nodes.names[row] as string);
  return ageMs !== undefined && ageMs > cls.maxNodeAgeMs;
};

/** Takes nodes; passes those heard of lately, and all for work that says onStale: Bind (which prefers the fresh ones). */
export const freshness: NodeFilter = {
  level: 'node',
  name: 'freshness',
  reason: 'NodeStale',
  applies: ({ waitsWhenStale }) => waitsWhenStale,
  rejects: isStale,
  says: ({ cls, nodes, ages }, row) =>
    `was last heard of ${Math.round((ages(nodes.names[row] as string) ?? 0) / 1_000)} s ago; at most ${cls.maxNodeAgeMs / 1_000} s is allowed`,
};
