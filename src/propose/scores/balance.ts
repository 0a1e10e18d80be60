import type { NodeScore } from './score.js';

/**
 * How alike what it asks for and what is left are in their proportions: on a node with more memory left than processor,
 * better something that asks for more memory. What is left of one alone in the end is of no use.
 */
export const balance: NodeScore = {
  level: 'node',
  name: 'balance',
  applies: () => true,
  score: ({ cls, nodes }, row) => {
    const cpu = nodes.cpuAllocatable[row] as number;
    const memory = nodes.memoryAllocatable[row] as number;
    if (cpu === 0 || memory === 0) return 0;
    const [cpuAsked, memoryAsked] = [cls.cpuMilli / cpu, cls.memoryBytes / memory];
    const cpuLeft = (nodes.cpuFree[row] as number) / cpu;
    const memoryLeft = (nodes.memoryFree[row] as number) / memory;
    // The cosine of the angle between the two.
    const lengths = Math.sqrt((cpuAsked ** 2 + memoryAsked ** 2) * (cpuLeft ** 2 + memoryLeft ** 2));
    const alike = lengths > 0 ? (cpuAsked * cpuLeft + memoryAsked * memoryLeft) / lengths : 0;
    return Math.min(1, Math.max(0, alike));
  },
};
