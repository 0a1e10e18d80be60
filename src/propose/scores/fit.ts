import type { NodeScore } from './score.js';

/** How full the node would be, where the policy packs; how empty it would stay, where it spreads. */
export const fit: NodeScore = {
  level: 'node',
  name: 'fit',
  applies: () => true,
  score: ({ cls, nodes }, row, { strategy }) => {
    const cpu = nodes.cpuAllocatable[row] as number;
    const memory = nodes.memoryAllocatable[row] as number;
    const cpuLeft = cpu > 0 ? ((nodes.cpuFree[row] as number) - cls.cpuMilli) / cpu : 0;
    const memoryLeft = memory > 0 ? ((nodes.memoryFree[row] as number) - cls.memoryBytes) / memory : 0;
    const left = Math.min(1, Math.max(0, (cpuLeft + memoryLeft) / 2));
    return strategy === 'Pack' ? 1 - left : left;
  },
};
