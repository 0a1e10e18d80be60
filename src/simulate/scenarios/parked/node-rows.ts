import { node, service } from '../../world/small-cell.js';
import { wish } from '../../world/wish.js';
import { cell, fill, type Row, type Rows, waits } from './parked-row.js';

const once = { execution: 'AtMostOne' };
const plain: Omit<Row, 'cure' | 'act'> = {
  nodes: [node('n1', '4')],
  wishes: cell(),
  waits: waits({ cpu: '2' }),
};
const another: Pick<Row, 'cure' | 'act'> = {
  cure: 'another node comes',
  act: (one) => one.addNode(node('n2', '4')),
};

/** The detector has closed the gate of the only node. */
const closed: typeof plain = {
  ...plain,
  detects: true,
  lastsMs: 70_000,
  prepare: (one) => {
    one.silence('n1');
    return () => one.gateOf('n1') === 'Closed';
  },
};
export const gateOpened: Rows = [
  { ...closed, cure: 'the node is heard of again, and its gate opens', act: (one) => one.heal() },
];
export const gateCame: Rows = [{ ...closed, ...another }];

/** A person has said that nothing of the node runs any more: its epoch is closed. */
const over: typeof plain = {
  ...plain,
  prepare: (one) => {
    one.silence('n1');
    one.attest('n1');
    return () => one.epochOf('n1') === 'Closed';
  },
};
export const epochOpened: Rows = [{ ...over, cure: 'the node registers again', act: (one) => one.heal() }];
export const epochCame: Rows = [{ ...over, ...another }];

/** The only node was not heard of for too long, and nobody closes its gate. */
const silent: typeof plain = {
  ...plain,
  lastsMs: 70_000,
  waits: waits({ cpu: '2' }, {}, once),
  prepare: (one) => one.silenceFor('n1', 25_000),
};
export const silentCame: Rows = [{ ...silent, ...another }];
export const heardAgain: Rows = [
  { ...silent, cure: 'the node is heard of again', act: (one) => one.heal() },
  {
    ...silent,
    cure: 'the node is heard of again, on which a replica can be asked to leave',
    wishes: [...cell(), fill({ cpu: '4' })],
    up: { fill: 1 },
    waits: waits({ cpu: '2' }, { priorityClassName: 'high' }, once),
    tells: 'NodeFull',
    also: ['NodeFull'],
    act: (one) => one.heal(),
  },
];

export const firstCame: Rows = [
  { ...plain, nodes: [], cure: 'the first node comes', act: (one) => one.addNode(node('n1', '4')) },
];

/** Its revision is gone, and what would make it again is lost. */
export const revisionBack: Rows = [
  {
    ...plain,
    cure: 'its revision is there again',
    wishes: cell({ limit: { cpu: '1' } }),
    park: (one) =>
      one.when(
        () => one.parkedUnder().includes('QuotaExceeded'),
        () => {
          one.removeRevision('waits');
          one.when(
            () => one.hasNoRevision('waits'),
            () => one.set('Tenant', undefined, 'shop', { limit: undefined }),
          );
        },
      ),
    act: ({ world }) => {
      world.direct = undefined;
    },
  },
];

/** The room that was to come free on one node does not come, and a replica on another node is evictable. */
const coming: Omit<Row, 'cure' | 'act'> = {
  nodes: [node('n1', '4', { labels: { pool: 'first' } }), node('n2', '4', { labels: { pool: 'second' } })],
  wishes: [
    ...cell(),
    wish('PriorityClass', undefined, 'highest', { value: 300 }),
    service(
      'lab',
      'goes',
      1,
      { cpu: '4' },
      {
        priorityClassName: 'higher',
        placement: { nodeSelector: { pool: 'first' } },
      },
    ),
    fill({ cpu: '4' }, { placement: { nodeSelector: { pool: 'second' } } }),
  ],
  up: { goes: 1, fill: 1 },
  prepare: (one) => {
    one.silence('n1');
    one.set('Workload', 'lab', 'goes', { replicas: 0 });
    return () => one.replicas('goes').some(({ status }) => status?.stage === 'Releasing');
  },
  waits: waits({ cpu: '4' }, { priorityClassName: 'high' }),
};
export const notComing: Rows = [
  {
    ...coming,
    cure: 'the gate of the node closes on which a replica was to end',
    detects: true,
    lastsMs: 70_000,
    act: () => undefined,
  },
  {
    ...coming,
    cure: 'a replica that was to end makes room for another that ranks higher',
    act: (one) => {
      one.create(
        service(
          'shop',
          'top',
          1,
          { cpu: '4' },
          {
            priorityClassName: 'highest',
            placement: { nodeSelector: { pool: 'first' } },
          },
        ),
      );
      one.world.wire.after(8_000, () => one.heal());
    },
  },
];
