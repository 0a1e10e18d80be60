import { node, service } from '../../world/small-cell.js';
import { cell, fill, type Row, type Rows } from './parked-row.js';

const gang = (cpu: string, more: object = {}, template: object = {}): Pick<Row, 'isGang' | 'waits'> => ({
  isGang: true,
  waits: service('shop', 'waits', 2, { cpu }, { gang: { minAvailable: 2 }, ...more }, template),
});

/** A gang finds no place for all of its members. Gangs stand in no queue: any cure makes them look again. */
export const gangCured: Rows = [
  {
    cure: 'a node comes for the second member of a gang',
    nodes: [node('n1', '4')],
    wishes: cell(),
    ...gang('3'),
    tells: 'NodeFull',
    act: (one) => one.addNode(node('n2', '4')),
  },
  {
    cure: 'what is in the way of the second member of a gang leaves',
    nodes: [node('n1', '4')],
    wishes: [...cell(), fill({ cpu: '2' })],
    up: { fill: 1 },
    ...gang('2'),
    tells: 'NodeFull',
    act: (one) => one.set('Workload', 'lab', 'fill', { replicas: 0 }),
  },
  {
    cure: 'the limit of the tenant of a gang is raised',
    nodes: [node('n1', '4')],
    wishes: cell({ limit: { cpu: '2' } }),
    ...gang('2'),
    tells: 'QuotaExceeded',
    act: (one) => one.set('Tenant', undefined, 'shop', { limit: { cpu: '4' } }),
  },
];

/** Members hold, and wait for the last hold to be complete. */
export const gangHeld: Rows = [
  {
    cure: 'the victim ends that the second member of a gang takes the place of',
    nodes: [node('n1', '4')],
    wishes: [
      ...cell(),
      fill({ cpu: '2' }),
      service('lab', 'early', 1, { cpu: '2' }, { disruption: { maxUnavailable: 0 } }),
    ],
    up: { fill: 1, early: 1 },
    ...gang('2', { priorityClassName: 'high' }),
    tells: 'NodeFull',
    act: (one) => one.set('Workload', 'lab', 'early', { disruption: { maxUnavailable: 1 } }),
  },
];

/** The only node is silent for a while, and no record shows when its heartbeats come again. */
export const gangHeard: Row = {
  cure: 'the only node is heard of again, and a gang waits for that',
  lastsMs: 70_000,
  nodes: [node('n1', '4')],
  wishes: cell(),
  ...gang('2', {}, { execution: 'AtMostOne' }),
  tells: 'NodeStale',
  prepare: (one) => one.silenceFor('n1', 25_000),
  act: (one) => one.heal(),
};

/** A single replica holds, and waits for its hold to be complete. */
export const held: Rows = [
  {
    cure: 'the victim ends that it takes the place of',
    nodes: [node('n1', '4')],
    wishes: [...cell(), fill({ cpu: '4' }, { disruption: { maxUnavailable: 0 } })],
    up: { fill: 1 },
    waits: service('shop', 'waits', 1, { cpu: '4' }, { priorityClassName: 'high' }),
    tells: 'NodeFull',
    act: (one) => one.set('Workload', 'lab', 'fill', { disruption: { maxUnavailable: 1 } }),
  },
];
