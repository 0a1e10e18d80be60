import type { ShapeScore } from './score.js';

/** A round trip of this long is worth half of none. */
const halfMs = 50;

/** How near the region is to the one that the workload wants to be near to; from its bound on, nearer no longer counts. */
export const locality: ShapeScore = {
  level: 'shape',
  name: 'locality',
  applies: ({ cls }) => cls.spec.placement?.near !== undefined,
  score: ({ spec, latencyMs }, { region }) => {
    const near = spec.placement?.near;
    if (near === undefined || near.region === region) return 1;
    const ms = latencyMs(region, near.region);
    if (ms === undefined) return 0;
    return near.maxLatencyMs !== undefined && ms <= near.maxLatencyMs ? 1 : halfMs / (halfMs + ms);
  },
};
