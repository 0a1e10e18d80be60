import type { NodeScore } from './score.js';

/** The fewer devices would lie idle beside work that does not ask for them, the better: others will want them. */
export const spareDevices: NodeScore = {
  level: 'node',
  name: 'spareDevices',
  applies: ({ nodes }) => nodes.devices.length > 0,
  score: ({ cls, nodes }, row) => {
    let idle = 0;
    for (const column of nodes.devices) {
      const all = column.allocatable[row] as number;
      if (all > 0 && !cls.devices.some((asked) => asked.column === column))
        idle = Math.max(idle, (column.free[row] as number) / all);
    }
    return 1 - idle;
  },
};
