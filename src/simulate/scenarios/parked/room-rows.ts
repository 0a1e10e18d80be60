import type { NodeShape } from '../../world/agent.js';
import { node, service } from '../../world/small-cell.js';
import { wish } from '../../world/wish.js';
import { cell, fill, type Row, waits } from './parked-row.js';

/** What is short on the node: how a node with a little of it looks, and what takes all of it. */
interface Shortage {
  readonly node: (name: string) => NodeShape;
  readonly taken: object;
  /** What `waits` asks for besides four cores. */
  readonly asked: object;
}

const main = { labels: { pool: 'main' } };
const other = { labels: { pool: 'other' } };
const inMain = { placement: { nodeSelector: { pool: 'main' } } };
const high = { priorityClassName: 'high' };

export const cores: Shortage = {
  node: (name) => node(name, '4', main),
  taken: { cpu: '4' },
  asked: {},
};
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

/** Room comes: a node, or something leaves. */
export const came = ({ node: shape, taken, asked }: Shortage): Row => ({
  cure: 'a node comes',
  nodes: [shape('n1')],
  wishes: [...cell(), fill(taken)],
  up: { fill: 1 },
  waits: waits({ cpu: '4', ...asked }),
  act: (one) => one.addNode(shape('n2')),
});

export const freed = (short: Shortage): Row => ({
  ...came(short),
  cure: 'what has it leaves',
  act: (one) => one.remove('Workload', 'lab', 'fill'),
});

export const offered = (short: Shortage, more: Partial<NodeShape>): Row => ({
  ...came(short),
  cure: 'the node offers more',
  act: ({ world }) => world.offer.get('n1')?.(more),
});

/** Somebody can be asked to leave who could not be before. */
export const limitRaised = ({ node: shape, taken, asked }: Shortage): Row => ({
  cure: 'the workload of the victim may be disrupted',
  nodes: [shape('n1')],
  wishes: [...cell(), fill(taken, { disruption: { maxUnavailable: 0 } })],
  up: { fill: 1 },
  waits: waits({ cpu: '4', ...asked }, high),
  act: (one) => one.set('Workload', 'lab', 'fill', { disruption: { maxUnavailable: 1 } }),
});

export const mayPreempt = ({ node: shape, taken, asked }: Shortage): Row => ({
  cure: 'its priority class may preempt',
  nodes: [shape('n1')],
  wishes: [
    ...cell(),
    wish('PriorityClass', undefined, 'patient', { value: 100, preemption: 'Never' }),
    fill(taken),
  ],
  up: { fill: 1 },
  waits: waits({ cpu: '4', ...asked }, { priorityClassName: 'patient' }),
  act: (one) => one.set('PriorityClass', undefined, 'patient', { preemption: 'Allowed' }),
});

export const guaranteeRaised = ({ node: shape, taken, asked }: Shortage): Row => ({
  cure: 'the guarantee of its tenant is raised',
  nodes: [shape('n1')],
  wishes: [...cell(), fill(taken)],
  up: { fill: 1 },
  waits: waits({ cpu: '4', ...asked }),
  act: (one) => one.set('Tenant', undefined, 'shop', { guaranteed: guaranteed(asked) }),
});

export const guaranteeFreed = ({ node: shape, taken, asked }: Shortage): Row => ({
  cure: 'its tenant uses less of its guarantee elsewhere',
  nodes: [shape('n1'), node('s1', '1', other)],
  wishes: [
    ...cell({ guaranteed: guaranteed(asked) }),
    fill(taken, inMain),
    service('shop', 'own', 1, { cpu: '1' }, { placement: { nodeSelector: { pool: 'other' } } }),
  ],
  up: { fill: 1, own: 1 },
  waits: waits({ cpu: '4', ...asked }, inMain),
  also: ['SelectorMismatch'],
  act: (one) => one.remove('Workload', 'shop', 'own'),
});

const guaranteed = (asked: object): object => ({
  cpu: '4',
  ...('devices' in asked && { devices: { gpu: 1 } }),
});

/** Other ways in which it comes to be that somebody can be asked to leave. */
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
    act: (one) => one.remove('Workload', 'lab', 'gone'),
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

/** Room that was taken in the scheduler's picture alone comes free there, and no record of the node changes. */
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
