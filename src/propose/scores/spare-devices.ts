import type { NodeScore } from './score.js';

/** Whether the node has no devices that this class would leave idle beside it. */
export const spareDevices: NodeScore = {
  level: 'node',
  name: 'spareDevices',
  applies: ({ nodes }) => nodes.devices.length > 0,
  score: ({ cls, nodes }, row) => {
    for (const column of nodes.devices)
      if ((column.allocatable[row] as number) > 0 && !cls.devices.some((asked) => asked.column === column))
        return 0;
    return 1;
  },
};
