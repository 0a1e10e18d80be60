import { node, service } from '../../world/small-cell.js';
import { cell, type Row, type Rows, waits } from './parked-row.js';

/** A rule about the labels of a node and the number of its replicas. */
type Wants = (labels: object, replicas: number) => boolean;

/** A custom filter that wants nodes for `waits` to be in a certain way. */
const picky = (wants: Wants, kind: 'Place' | 'Time' = 'Place'): Omit<Row, 'cure' | 'act'> => ({
  nodes: [node('n1', '4')],
  wishes: cell(),
  waits: waits({ cpu: '2' }),
  scheduling: {
    plugins: [
      {
        ...{ source: 'picky', digest: 'picky', scores: [] },
        filters: [
          {
            name: 'picky',
            filter: ({ workload }, { labels, replicas }) =>
              workload !== 'waits' || wants(labels, replicas) || 'will not do',
          },
        ],
      },
    ],
    accepted: ({ metadata }, { used }) =>
      wants(metadata.labels ?? {}, used.replicas ?? 0) ? kind : undefined,
  },
});
const quiet = picky((labels) => 'quiet' in labels);
const other = service('lab', 'other', 1, { cpu: '1' });

export const pluginCame: Rows = [
  {
    ...quiet,
    cure: 'a node comes that a custom filter accepts',
    act: (one) => one.addNode(node('n2', '4', { labels: { quiet: 'yes' } })),
  },
];
export const pluginChanged: Rows = [
  {
    ...quiet,
    cure: 'a node is labelled as a custom filter wants it',
    act: (one) => one.label('n1', { quiet: 'yes' }),
  },
];
export const pluginFreed: Rows = [
  {
    ...picky((_, replicas) => replicas === 0),
    cure: 'a node is empty, as a custom filter wants it',
    wishes: [...cell(), other],
    up: { other: 1 },
    act: (one) => one.set('Workload', 'lab', 'other', { replicas: 0 }),
  },
];
export const pluginFilled: Rows = [
  {
    ...picky((_, replicas) => replicas > 0, 'Time'),
    cure: 'a node is in use, as a custom filter wants it',
    act: (one) => one.create(other),
  },
];
