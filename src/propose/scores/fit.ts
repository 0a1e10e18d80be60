import type { NodeScore } from './score.js';

/** How full the node would be, where the policy packs; how empty it would stay, where it spreads. */
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
    return strategy === 'Pack' ? 1 - share : share;
  },
};
