import { type PickedPorts, pickPorts } from '../../model/pick-ports.js';
import type { NodeFilter, View } from './filter.js';

const picked = ({ cls, nodes }: View, row: number): PickedPorts =>
  pickPorts(cls.ports, (port) => nodes.isPortClaimed(row, port));

/** [S1] Takes nodes; passes those where the ports that a replica asks for are to be had. */
export const ports: NodeFilter = {
  level: 'node',
  name: 'ports',
  reason: 'PortTaken',
  applies: (cls) => cls.ports.length > 0,
  rejects: (view, row) => !('ports' in picked(view, row)),
  says: (view, row) => {
    const found = picked(view, row);
    if ('taken' in found) return `has port ${found.taken} claimed by another`;
    return `has no port left from ${'noneOf' in found ? found.noneOf : ''}`;
  },
};
