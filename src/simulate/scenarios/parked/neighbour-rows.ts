import type { NodeShape } from '../../world/node-shape.js';
import { node, service } from '../../world/small-cell.js';
import { cell, fill, type Row, type Rows, waits } from './parked-row.js';

const db = { selector: { matchLabels: { app: 'db' } } };
const labelled = { labels: { app: 'db' } };
const own = (name: string, more: object = {}): Row['wishes'][number] =>
  service('shop', name, 1, { cpu: '1' }, more, labelled);
const inZone = (name: string, zone: string, more: Partial<NodeShape> = {}): NodeShape =>
  node(name, '4', { zone, ...more });

/** A neighbour is where it must not be. */
const apart: Omit<Row, 'cure' | 'act'> = {
  nodes: [node('n1', '4')],
  wishes: [...cell(), own('db')],
  up: { db: 1 },
  waits: waits({ cpu: '2' }, { placement: { antiAffinity: [{ topology: 'Node', ...db }] } }),
};
const apartByZone: typeof apart = {
  ...apart,
  nodes: [inZone('n1', 'a'), inZone('n2', 'a')],
  waits: waits({ cpu: '2' }, { placement: { antiAffinity: [{ topology: 'Zone', ...db }] } }),
};

export const apartCame: Rows = [
  {
    ...apart,
    cure: 'a node comes without the neighbour',
    act: (one) => one.addNode(node('n2', '4')),
  },
];
export const apartMoved: Rows = [
  {
    ...apartByZone,
    cure: 'a node is said to be in another zone',
    act: (one) => {
      const { binding } = one.replicas('db')[0]?.status ?? {};
      one.set('Node', undefined, binding?.node === 'n1' ? 'n2' : 'n1', { zone: 'b' });
    },
  },
];
/** The node that has victims is in the zone of the neighbour. */
const apartFromRoom: Row = {
  cure: 'a neighbour in the zone leaves, beside which it may make no room',
  nodes: [node('n1', '4'), node('s1', '1', { labels: { pool: 'other' } })],
  wishes: [...cell(), fill({ cpu: '4' }), own('db', { placement: { nodeSelector: { pool: 'other' } } })],
  up: { fill: 1, db: 1 },
  waits: waits(
    { cpu: '4' },
    { priorityClassName: 'high', placement: { antiAffinity: [{ topology: 'Zone', ...db }] } },
  ),
  tells: 'NodeFull',
  also: ['NodeFull'],
  act: (one) => one.set('Workload', 'shop', 'db', { replicas: 0 }),
};

export const apartLeft: Rows = [
  {
    ...apart,
    cure: 'the neighbour leaves',
    act: (one) => one.set('Workload', 'shop', 'db', { replicas: 0 }),
  },
  {
    ...apartByZone,
    cure: 'the neighbour in the zone leaves',
    act: (one) => one.set('Workload', 'shop', 'db', { replicas: 0 }),
  },
  {
    ...apart,
    cure: 'the neighbour that does not want it leaves',
    wishes: [
      ...cell(),
      own('db', {
        placement: { antiAffinity: [{ topology: 'Node', selector: { matchLabels: { app: 'web' } } }] },
      }),
    ],
    waits: waits({ cpu: '2' }, {}, { labels: { app: 'web' } }),
    act: (one) => one.set('Workload', 'shop', 'db', { replicas: 0 }),
  },
  apartFromRoom,
];
export const apartForgotten: Rows = [
  {
    ...apart,
    cure: 'the revision of the neighbour is deleted, and with it the labels that the rule speaks of',
    act: (one) => one.removeRevision('db'),
  },
];

/** The neighbour is not where it has to be. */
const lonely: Omit<Row, 'cure' | 'act'> = {
  nodes: [node('n1', '4')],
  wishes: cell(),
  waits: waits({ cpu: '2' }, { placement: { affinity: [{ topology: 'Node', ...db }] } }),
};
const lonelyInZone: typeof lonely = {
  nodes: [inZone('n1', 'a', { labels: { pool: 'main' } }), inZone('n2', 'b')],
  wishes: [...cell(), own('db', { placement: { zones: ['a'] } })],
  waits: waits({ cpu: '4' }, { placement: { affinity: [{ topology: 'Zone', ...db }] } }),
};

export const lonelyNeighbourCame: Rows = [
  { ...lonely, cure: 'the neighbour comes', act: (one) => one.create(own('db')) },
  {
    ...lonely,
    cure: 'the neighbour comes without whom it may make no room',
    nodes: [node('n1', '4')],
    wishes: [...cell(), service('lab', 'fill', 1, { cpu: '3' })],
    up: { fill: 1 },
    waits: waits(
      { cpu: '2' },
      { priorityClassName: 'high', placement: { affinity: [{ topology: 'Node', ...db }] } },
    ),
    tells: 'NodeFull',
    also: ['NodeFull'],
    act: (one) => one.create(own('db')),
  },
];
/** The zone of the neighbour has room only on a node that is said to be there. */
export const lonelyMoved: Rows = [
  {
    ...lonelyInZone,
    cure: 'a node is said to be in the zone of the neighbour',
    up: { db: 1 },
    also: ['NodeFull'],
    act: (one) => one.set('Node', undefined, 'n2', { zone: 'a' }),
  },
];

/** Too many are in the zone already. */
const uneven: Omit<Row, 'cure' | 'act'> = {
  nodes: [inZone('n1', 'a')],
  wishes: cell(),
  waits: service(
    'shop',
    'waits',
    2,
    { cpu: '1' },
    { placement: { spread: [{ topology: 'Zone', maxSkew: 1 }] } },
  ),
};
export const unevenCame: Rows = [
  {
    ...uneven,
    cure: 'a node comes in the other zone',
    act: (one) => one.addNode(inZone('n2', 'b')),
  },
];
export const unevenMoved: Rows = [
  {
    ...uneven,
    nodes: [inZone('n1', 'a'), inZone('n2', 'a')],
    cure: 'a node is said to be in the other zone',
    act: (one) => {
      const bound = one.replicas('waits').flatMap(({ status }) => status?.binding?.node ?? []);
      one.set('Node', undefined, bound.includes('n1') ? 'n2' : 'n1', { zone: 'b' });
    },
  },
];
export const unevenLeft: Rows = [
  {
    ...uneven,
    nodes: [inZone('n1', 'a')],
    cure: 'the replica that is too many ends',
    isGone: true,
    act: (one) => {
      const [bound] = one.replicas('waits').filter(({ status }) => status?.binding !== undefined);
      one.remove('Replica', 'shop', bound?.metadata.name ?? '');
    },
  },
];
export const unevenTenant: Rows = [
  {
    cure: 'its tenant has to stay out of a region that has none of them',
    nodes: [inZone('n1', 'a'), inZone('n2', 'b')],
    wishes: cell(),
    waits: service(
      'shop',
      'waits',
      3,
      { cpu: '1' },
      {
        placement: { regions: ['eu-central', 'us-east'], spread: [{ topology: 'Zone', maxSkew: 1 }] },
      },
    ),
    act: (one) => one.set('Tenant', undefined, 'shop', { residency: ['EU'] }),
  },
];
export const unevenRegion: Rows = [
  {
    ...uneven,
    cure: 'the region has a zone less',
    act: (one) => one.set('Region', undefined, 'eu-central', { zones: ['a'] }),
  },
];
