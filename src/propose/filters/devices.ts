import type { NodeFilter } from './filter.js';

/** [S1] Takes nodes; passes those with as many devices that nobody claims as a replica asks for. */
export const devices: NodeFilter = {
  level: 'node',
  name: 'devices',
  reason: 'DeviceTaken',
  applies: (cls) => cls.devices.length > 0,
  rejects: ({ cls }, row) => cls.devices.some(({ column, count }) => count > (column.idsFree[row] as number)),
  says: ({ cls }, row) => {
    const missing = cls.devices.find(({ column, count }) => count > (column.idsFree[row] as number));
    return `has ${Math.max(0, missing?.column.idsFree[row] ?? 0)} free devices of class ${missing?.column.name ?? ''}; ${missing?.count ?? 0} are asked for`;
  },
};
