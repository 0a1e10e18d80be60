import type { NodeScore } from './score.js';

// Of the score: how full it would be. The rest is whether it is in use.
const fullness = 1 / 9;

/**
 * Where the policy packs: whether the node is in use already, and a little how full it would be, for which of those in
 * use is filled up first matters less than what its rest is good for (`balance`). Where it spreads: how empty it would
 * stay.
 */
export const fit: NodeScore = {
  level: 'node',
  name: 'fit',
  applies: () => true,
  score: ({ cls, nodes }, row, { strategy }) => {
    const cpu = nodes.cpuAllocatable[row] as number;
    const memory = nodes.memoryAllocatable[row] as number;
    let left = cpu > 0 ? ((nodes.cpuFree[row] as number) - cls.cpuMilli) / cpu : 0;
    left += memory > 0 ? ((nodes.memoryFree[row] as number) - cls.memoryBytes) / memory : 0;
    for (const { column, count } of cls.devices)
      left += ((column.free[row] as number) - count) / (column.allocatable[row] as number);
    const share = Math.min(1, Math.max(0, left / (2 + cls.devices.length)));
    if (strategy === 'Spread') return share;
    const isInUse = (nodes.cpuFree[row] as number) < cpu || (nodes.memoryFree[row] as number) < memory;
    return (isInUse ? 1 - fullness : 0) + fullness * (1 - share);
  },
};
