import type { NodeShape } from '../../world/node-shape.js';
import { node, service } from '../../world/small-cell.js';
import { wish } from '../../world/wish.js';
import type { ParkedCell } from './parked-cell.js';
import { cell, fill, type Row, type Rows, waits } from './parked-row.js';

/** A resource that is short on a node, and how much of it `waits` asks for besides four cores. */
interface Shortage {
  readonly node: (name: string) => NodeShape;
  /** The amounts that another replica has. */
  readonly taken: object;
  readonly asked: object;
}

const main = { labels: { pool: 'main' } };
const other = { labels: { pool: 'other' } };
const inMain = { placement: { nodeSelector: { pool: 'main' } } };
const inOther = { placement: { nodeSelector: { pool: 'other' } } };
const high = { priorityClassName: 'high' };

export const cores: Shortage = { node: (name) => node(name, '4', main), taken: { cpu: '4' }, asked: {} };
export const ports: Shortage = {
  node: (name) => node(name, '8', main),
  taken: { cpu: '4', ports: ['http:8080'] },
  asked: { ports: ['http:8080'] },
};
/** More devices are offered than have an id. */
export const devices: Shortage = {
  node: (name) => ({
    ...node(name, '8', { ...main, devices: { gpu: [`${name}-0`] } }),
    allocatable: { cpu: '8', memory: '16Gi', devices: { gpu: 2 } },
  }),
  taken: { cpu: '4', devices: { gpu: 1 } },
  asked: { devices: { gpu: 1 } },
};

const offersMore = ({ world }: ParkedCell): void =>
  world.offer.get('n1')?.({
    allocatable: { cpu: '12', memory: '16Gi', devices: { gpu: 3 } },
    devices: { gpu: ['n1-0', 'n1-1', 'n1-2'] },
  });

type RoomChange =
  | 'NodeCame'
  | 'NodeFreed'
  | 'VictimsEased'
  | 'GuaranteeFreed'
  | 'TenantChanged'
  | 'PriorityChanged';

/** A node is full of a replica, and each row makes room for `waits` in another way. */
export function roomRows({ node: shape, taken, asked }: Shortage): Readonly<Record<RoomChange, Rows>> {
  const short: Omit<Row, 'cure' | 'act'> = {
    nodes: [shape('n1')],
    wishes: [...cell(), fill(taken)],
    up: { fill: 1 },
    waits: waits({ cpu: '4', ...asked }),
  };
  const guaranteed = { cpu: '4', ...('devices' in asked && { devices: asked.devices }) };
  return {
    NodeCame: [{ ...short, cure: 'a node comes', act: (one) => one.addNode(shape('n2')) }],
    NodeFreed: [
      {
        ...short,
        cure: 'what is in the way leaves',
        act: (one) => one.set('Workload', 'lab', 'fill', { replicas: 0 }),
      },
      ...('ports' in asked ? [] : [{ ...short, cure: 'the node offers more', act: offersMore }]),
    ],
    VictimsEased: [
      {
        ...short,
        cure: 'the workload of the victim may be disrupted',
        wishes: [...cell(), fill(taken, { disruption: { maxUnavailable: 0 } })],
        waits: waits({ cpu: '4', ...asked }, high),
        act: (one) => one.set('Workload', 'lab', 'fill', { disruption: { maxUnavailable: 1 } }),
      },
    ],
    PriorityChanged: [
      {
        ...short,
        cure: 'its priority class may preempt',
        wishes: [
          ...short.wishes,
          wish('PriorityClass', undefined, 'patient', { value: 100, preemption: 'Never' }),
        ],
        waits: waits({ cpu: '4', ...asked }, { priorityClassName: 'patient' }),
        act: (one) => one.set('PriorityClass', undefined, 'patient', { preemption: 'Allowed' }),
      },
    ],
    TenantChanged: [
      {
        ...short,
        cure: 'the guarantee of its tenant is raised',
        act: (one) => one.set('Tenant', undefined, 'shop', { guaranteed }),
      },
    ],
    GuaranteeFreed: [
      {
        cure: 'its tenant uses less of its guarantee elsewhere',
        nodes: [shape('n1'), node('s1', '1', other)],
        wishes: [
          ...cell({ guaranteed }),
          fill(taken, inMain),
          service('shop', 'own', 1, { cpu: '1' }, inOther),
        ],
        up: { fill: 1, own: 1 },
        waits: waits({ cpu: '4', ...asked }, inMain),
        also: ['SelectorMismatch'],
        act: (one) => one.set('Workload', 'shop', 'own', { replicas: 0 }),
      },
    ],
  };
}

/** Further ways in which a replica becomes evictable. */
export const easedRows: readonly Row[] = [
  {
    cure: 'an occupant that ranks higher leaves, and one that ranks lower stays',
    nodes: [node('n1', '3')],
    wishes: [
      ...cell(),
      fill({ cpu: '1' }),
      service('lab', 'keep', 1, { cpu: '1' }, { priorityClassName: 'higher' }),
      service('lab', 'gone', 1, { cpu: '1' }, { priorityClassName: 'higher' }),
    ],
    up: { fill: 1, keep: 1, gone: 1 },
    waits: waits({ cpu: '2' }, high),
    act: (one) => one.set('Workload', 'lab', 'gone', { replicas: 0 }),
  },
  {
    cure: 'the workload of the victim is disrupted less',
    nodes: [node('n1', '4', main), node('n2', '4', other)],
    wishes: [...cell(), service('lab', 'fill', 2, { cpu: '4' }, { disruption: { maxUnavailable: 1 } })],
    up: { fill: 2 },
    prepare: (one) => {
      one.set('Node', undefined, 'n2', { drain: { reason: 'test' } });
      return () => one.replicas('fill').some(({ status }) => status?.stage === 'Queued');
    },
    waits: waits({ cpu: '4' }, { ...high, ...inMain }),
    also: ['Tainted'],
    act: (one) => one.set('Node', undefined, 'n2', { drain: undefined }),
  },
  {
    cure: 'a replica that ranks lower is bound, whose binding was on its way',
    nodes: [node('n1', '4', main)],
    wishes: cell(),
    prepare: (one) => {
      const lost = one.loseBindings('n1', 1);
      one.create(fill({ cpu: '4' }));
      return () => lost() > 0;
    },
    waits: waits({ cpu: '4' }, high),
    act: () => undefined,
  },
];

/** The room was taken in the scheduler's picture alone: no record of the node changes when the room comes free. */
export const boundElsewhere: Row = {
  cure: 'a replica whose binding was on its way is bound to another node, by another scheduler',
  nodes: [node('n1', '5', main), node('n2', '4')],
  wishes: [...cell(), service('lab', 'small', 1, { cpu: '1' }, inMain)],
  up: { small: 1 },
  prepare: (one) => {
    const lost = one.loseBindings('n1', Number.POSITIVE_INFINITY);
    one.create(fill({ cpu: '4' }));
    return () => lost() > 0;
  },
  waits: waits({ cpu: '4' }, inMain),
  also: ['SelectorMismatch'],
  act: (one) => one.bindBy('scheduler-rival', 'fill', 'n2', () => (one.world.direct = undefined)),
};

/** A hold that came and went while nothing was heard of it. */
export const holdLost: Row = {
  cure: 'its hold is given back, and a node comes, both unheard',
  nodes: [node('n1', '4')],
  wishes: [...cell(), fill({ cpu: '4' }, { disruption: { maxUnavailable: 0 } })],
  up: { fill: 1 },
  waits: waits({ cpu: '4' }, high),
  timings: ['Parked'],
  act: (one) => {
    one.set('Workload', 'lab', 'fill', { disruption: { maxUnavailable: 1 } });
    const isAt = (stage: string) => (): boolean =>
      one.replicas('waits').some(({ status }) => status?.stage === stage);
    one.when(isAt('Scheduled'), () => {
      const resume = one.world.holdWatches(one.scheduler);
      one.set('Node', undefined, 'n1', { drain: { reason: 'test' } });
      one.when(isAt('Queued'), () => {
        one.addNode(node('n2', '4'));
        one.when(
          () => one.gateOf('n2') === 'Open',
          () => void resume(true),
        );
      });
    });
  },
};
