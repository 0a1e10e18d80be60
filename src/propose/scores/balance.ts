import type { NodeScore } from './score.js';

/** How alike the shares of processor and memory that are left would be: what is left of one alone is of no use. */
export const balance: NodeScore = {
  level: 'node',
  name: 'balance',
  applies: () => true,
  score: ({ cls, nodes }, row) => {
    const cpu = nodes.cpuAllocatable[row] as number;
    const memory = nodes.memoryAllocatable[row] as number;
    if (cpu === 0 || memory === 0) return 0;
    const cpuLeft = ((nodes.cpuFree[row] as number) - cls.cpuMilli) / cpu;
    const memoryLeft = ((nodes.memoryFree[row] as number) - cls.memoryBytes) / memory;
    return Math.max(0, 1 - Math.abs(cpuLeft - memoryLeft));
  },
};
