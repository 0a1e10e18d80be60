import { shownCount, shownResource } from '../../model/shown-resource.js';
import type { NodeFilter, View } from './filter.js';

/** The first resource of which not enough is left. What needs none of a resource fits even where it is overdrawn. */
function short(
  { cls, nodes }: View,
  row: number,
): readonly [what: string, asked: number, free: number] | undefined {
  if (cls.cpuMilli > 0 && cls.cpuMilli > (nodes.cpuFree[row] as number))
    return ['cpu', cls.cpuMilli, nodes.cpuFree[row] as number];
  if (cls.memoryBytes > 0 && cls.memoryBytes > (nodes.memoryFree[row] as number))
    return ['memory', cls.memoryBytes, nodes.memoryFree[row] as number];
  for (const { column, count } of cls.devices)
    if (count > (column.free[row] as number))
      return [`device/${column.name}`, count, column.free[row] as number];
  return undefined;
}

/** [S2] Takes nodes; passes those with as much left as a replica asks for. */
export const resources: NodeFilter = {
  level: 'node',
  name: 'resources',
  reason: 'NodeFull',
  applies: () => true,
  // Written out without what `short` would allocate, because it is asked of every node for every class.
  rejects: ({ cls, nodes }, row) => {
    if (cls.cpuMilli > 0 && cls.cpuMilli > (nodes.cpuFree[row] as number)) return true;
    if (cls.memoryBytes > 0 && cls.memoryBytes > (nodes.memoryFree[row] as number)) return true;
    for (const { column, count } of cls.devices) if (count > (column.free[row] as number)) return true;
    return false;
  },
  says: (view, row) => {
    const [what = '', asked = 0, free = 0] = short(view, row) ?? [];
    return `has not enough ${shownResource(what)} left: ${shownCount(what, asked)} asked for, ${shownCount(what, free)} free`;
  },
};
