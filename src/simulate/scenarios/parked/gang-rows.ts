import { node, service } from '../../world/small-cell.js';
import { cell, fill, type Row } from './parked-row.js';

export type GangNews = 'Cured' | 'StateChanged' | 'HoldChanged' | 'MemberCame' | 'TimePassed';

const gang = (replicas: number, cpu: string, more: object = {}, template: object = {}): Row['waits'] =>
  service('shop', 'waits', replicas, { cpu }, { gang: { minAvailable: 2 }, ...more }, template);

export const gangRows: readonly Row[] = [
  {
    cure: 'gang: a node comes',
    nodes: [node('n1', '4')],
    wishes: cell(),
    waits: gang(2, '3'),
    tells: 'NodeFull',
    also: [],
    act: (one) => one.addNode(node('n2', '4')),
  },
  {
    cure: 'gang: an occupant leaves',
    nodes: [node('n1', '4')],
    wishes: [...cell(), fill({ cpu: '2' })],
    up: { fill: 1 },
    waits: gang(2, '2'),
    tells: 'NodeFull',
    act: (one) => one.remove('Workload', 'lab', 'fill'),
  },
  {
    cure: 'gang: quota',
    nodes: [node('n1', '4')],
    wishes: cell({ limit: { cpu: '2' } }),
    waits: gang(2, '2'),
    tells: 'QuotaExceeded',
    act: (one) => one.set('Tenant', undefined, 'shop', { limit: { cpu: '4' } }),
  },
  {
    cure: 'gang: heard again',
    lastsMs: 70_000,
    nodes: [node('n1', '4')],
    wishes: cell(),
    waits: gang(2, '2', {}, { execution: 'AtMostOne' }),
    tells: 'NodeStale',
    prepare: (one) => {
      one.silenced = one.silence('n1');
      const fromMs = one.world.time.nowMs;
      return () => one.world.time.nowMs - fromMs > 25_000;
    },
    act: (one) => one.silenced?.(),
  },
  {
    cure: 'gang: the limit of victims is raised',
    nodes: [node('n1', '4')],
    wishes: [...cell(), fill({ cpu: '2' }, { disruption: { maxUnavailable: 0 } })],
    up: { fill: 1 },
    waits: gang(2, '2', { priorityClassName: 'high' }),
    tells: 'NodeFull',
    act: (one) => one.set('Workload', 'lab', 'fill', { disruption: { maxUnavailable: 1 } }),
  },
];
