import { node, service } from '../../world/small-cell.js';
import { cell, type Row, waits } from './parked-row.js';

const once = { execution: 'AtMostOne' };
const plain: Omit<Row, 'cure' | 'act'> = {
  nodes: [node('n1', '4')],
  wishes: cell(),
  waits: waits({ cpu: '2' }),
};

/** The detector has closed the gate of the only node. */
const closed: typeof plain = {
  ...plain,
  detects: true,
  lastsMs: 70_000,
  prepare: (one) => {
    one.silenced = one.silence('n1');
    return () => one.gateOf('n1') === 'Closed';
  },
};
export const gateOpened: Row = {
  ...closed,
  cure: 'the node is heard of again, and its gate opens',
  act: (one) => one.silenced?.(),
};
export const gateCame: Row = { ...closed, cure: 'a node comes', act: (one) => one.addNode(node('n2', '4')) };

/** A person has said that nothing of the node runs any more: its epoch is closed. */
const over: typeof plain = {
  ...plain,
  prepare: (one) => {
    one.silenced = one.silence('n1');
    one.attest('n1');
    return () => one.epochOf('n1') === 'Closed';
  },
};
export const epochOpened: Row = {
  ...over,
  cure: 'the node registers again',
  act: (one) => one.silenced?.(),
};
export const epochCame: Row = { ...over, cure: 'a node comes', act: (one) => one.addNode(node('n2', '4')) };

/** The only node was not heard of for too long, and nobody closes its gate. */
const silent: typeof plain = {
  ...plain,
  lastsMs: 70_000,
  waits: waits({ cpu: '2' }, {}, once),
  prepare: (one) => {
    one.silenced = one.silence('n1');
    const fromMs = one.world.time.nowMs;
    return () => one.world.time.nowMs - fromMs > 25_000;
  },
};
export const heardAgain: Row = { ...silent, cure: 'the node is heard of again', act: (one) => one.silenced?.() };
export const silentCame: Row = { ...silent, cure: 'a node comes', act: (one) => one.addNode(node('n2', '4')) };
export const victimHeardAgain: Row = {
  ...silent,
  cure: 'the node is heard of again, on which somebody can be asked to leave',
  wishes: [...cell(), service('lab', 'fill', 1, { cpu: '4' })],
  up: { fill: 1 },
  waits: waits({ cpu: '2' }, { priorityClassName: 'high' }, once),
  tells: 'NodeFull',
  also: ['NodeFull'],
  act: (one) => one.silenced?.(),
};

export const firstCame: Row = {
  ...plain,
  nodes: [],
  cure: 'the first node comes',
  act: (one) => one.addNode(node('n1', '4')),
};

/** Its revision is gone, and what would make it again is lost. */
export const revisionBack: Row = {
  ...plain,
  cure: 'its revision is there again',
  wishes: cell({ limit: { cpu: '1' } }),
  park: (one) => {
    const { world } = one;
    const revisions = (): readonly (readonly [string, unknown])[] => [
      ...world.history.under('/o/WorkloadRevision/shop/waits-'),
    ];
    one.when(
      () => one.parkedUnder().includes('QuotaExceeded'),
      () => {
        world.direct = ({ writes }) =>
          writes.some(({ key, kind }) => kind === 'put' && key.startsWith('/o/WorkloadRevision/'))
            ? 'store.requestLost'
            : undefined;
        for (const [key] of revisions()) one.remove('WorkloadRevision', 'shop', key.split('/').at(-1) ?? '');
        one.when(
          () => revisions().length === 0,
          () => one.set('Tenant', undefined, 'shop', { limit: undefined }),
        );
      },
    );
  },
  act: ({ world }) => {
    world.direct = undefined;
  },
};
