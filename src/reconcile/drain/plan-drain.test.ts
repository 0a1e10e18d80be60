import { describe, expect, it } from 'vitest';
import type { Node } from '../../model/kinds/node.js';
import type { Stage } from '../../model/stages.js';
import { nodeOf, replicaOf, type ReplicaShape } from '../workload/workload.fixture.js';
import {
  type DrainInput,
  type DrainLook,
  drainStatus,
  drivenAway,
  evictable,
  type NodeDrain,
  takenOver,
} from './plan-drain.js';

const now = '2026-01-01T00:00:00Z';
const node = (drain: object = {}, status?: Partial<NodeDrain>): Node =>
  ({ ...nodeOf('n1', { drain }), status: { ...(status !== undefined && { drain: status }) } }) as Node;
const on = (slot: number, stage: Stage, more: ReplicaShape = {}) =>
  replicaOf(slot, stage, {
    binding: {
      ...{ node: 'n1', nodeEpoch: { cell: 1, number: 1 }, fence: '1' },
      receipt: { snapshotRevision: '1', policyRevision: 'p', operation: 'o' },
    },
    ...more,
  });
const look = (more: Partial<DrainInput> = {}): DrainLook => {
  const { node: of = node(), live = [] } = more;
  return drainStatus({
    ...{ node: of, live, holds: 0, blocks: new Map(), drainingMs: 0, now },
    ...{ isReplaced: () => false, seen: takenOver(of.status?.drain, live) },
    ...more,
  });
};
const status = (more: Partial<DrainInput> = {}): NodeDrain => look(more).drain;
const shown = ({ replicas = [] }: NodeDrain): string[] =>
  replicas.map(({ replica, state, nextMove }) => `${replica} ${state} ${nextMove ?? ''}`.trim());
const limit = { reason: 'DisruptionLimit', message: '1 of web at most', nextMove: 'scheduler' };

describe('how far a drain has come', () => {
  it.each<[Stage, ReplicaShape, string]>([
    ['Bound', {}, 't/web-0-1 Planned drain'],
    ['Serving', {}, 't/web-0-1 Planned drain'],
    ['Releasing', {}, 't/web-0-1 Releasing agent:n1'],
    ['Releasing', { isListed: true }, 't/web-0-1 Releasing endpoints-controller'],
    ['Unknown', {}, 't/web-0-1 Unknown repair-controller'],
  ])('a replica at %s says where it is and whose move it is', (stage, shape, row) => {
    const drain = status({ live: [on(0, stage, shape)] });
    expect([drain.state, shown(drain)]).toEqual(['Draining', [row]]);
  });

  it('one that its workload does not let go says which limit, and who can move', () => {
    const replica = on(0, 'Serving');
    const drain = status({ live: [replica], blocks: new Map([[replica.metadata.uid, limit]]) });
    expect(shown(drain)).toEqual(['t/web-0-1 Blocked scheduler']);
    expect(drain).toMatchObject({ planned: 1, message: '1 of t/web: 1 of web at most' });
  });

  it('one that is gone was released, and is replaced when another is ready in its slot', () => {
    const before = status({ live: [on(0, 'Releasing'), on(1, 'Releasing')] });
    const released = status({ node: node({}, before), live: [on(1, 'Releasing')] });
    expect(shown(released)).toEqual(['t/web-1-1 Releasing agent:n1', 't/web-0-1 Released']);
    const replaced = status({ node: node({}, released), isReplaced: ({ slot }) => slot === '0' });
    expect(shown(replaced)).toEqual(['t/web-1-1 Released', 't/web-0-1 Replaced']);
    expect(replaced).toMatchObject({ state: 'Complete', released: 2, replaced: 1, completedAt: now });
  });

  it('is complete only when nothing there has not ended and nothing is held', () => {
    expect(status({ live: [on(0, 'Unknown')] }).state).toBe('Draining');
    expect(status({ holds: 1 })).toMatchObject({ state: 'Draining', message: '1 holds are not given back' });
    expect(status().state).toBe('Complete');
  });

  it('[L5] is stuck after its deadline, says on what, and is complete all the same when that is over', () => {
    const late = { node: node({ deadlineSeconds: 60 }), drainingMs: 60_000 };
    expect(status({ ...late, drainingMs: 59_000, live: [on(0, 'Unknown')] }).state).toBe('Draining');
    expect(status({ ...late, live: [on(0, 'Unknown')] })).toMatchObject({
      state: 'Stuck',
      message: 'not known whether they run: t/web-0-1',
    });
    expect(status(late).state).toBe('Complete');
  });
});

describe('of 1,200 that leave, 500 are shown and all are counted', () => {
  const live = Array.from({ length: 1_200 }, (_, slot) => on(slot, 'Serving'));
  const isReplaced = () => true;
  const counts = ({ drain }: DrainLook) => [drain.planned, drain.released, drain.replaced];

  it('when they leave and are replaced, in one look or several, however often it is looked', () => {
    const first = look({ live });
    const half = look({ live: live.slice(600), seen: first.seen, isReplaced });
    const again = look({ node: node({}, half.drain), live: live.slice(600), seen: half.seen, isReplaced });
    const last = look({ node: node({}, again.drain), seen: again.seen, isReplaced });
    expect([first, half, again, last].map(counts)).toEqual([
      ...[
        [1_200, 0, 0],
        [600, 600, 600],
        [600, 600, 600],
        [0, 1_200, 1_200],
      ],
    ]);
    expect([last.drain.state, last.drain.replicas?.length]).toEqual(['Complete', 500]);
  });

  it('by a controller, too, that takes over from one that had counted some', () => {
    const half = look({ live: live.slice(600), seen: look({ live }).seen, isReplaced });
    const next = node({}, half.drain);
    const taken = look({ node: next, live: live.slice(600), isReplaced });
    expect(counts(taken)).toEqual(counts(half));
    expect(counts(look({ node: next, seen: taken.seen, isReplaced }))).toEqual([0, 1_200, 1_200]);
    // Some had left before the other looked for the first time.
    expect(look({ node: next, live: live.slice(1_000) }).drain.released).toBe(1_000);
  });
});

describe('who is asked to leave', () => {
  it('what runs or is about to, never what is not known, stops already or waits', () => {
    const all: readonly Stage[] = ['Bound', 'Starting', 'Ready', 'Serving', 'Unknown', 'Releasing', 'Queued'];
    const asked = evictable(all.map((stage, slot) => on(slot, stage)));
    expect(asked.map(({ status: is }) => is?.stage)).toEqual(['Bound', 'Starting', 'Ready', 'Serving']);
  });

  it('a NoExecute taint drives away who does not tolerate it, and nobody else', () => {
    const live = [on(0, 'Serving'), on(1, 'Serving')];
    const tolerations = ({ spec }: { spec: { slot: string } }) =>
      spec.slot === '1' ? [{ key: 'flood', operator: 'Exists' as const }] : [];
    const tainted = (effect: string) => nodeOf('n1', { taints: [{ key: 'flood', effect }] });
    const names = (of: Node) => drivenAway(of, live, tolerations).map(({ metadata }) => metadata.name);
    expect(names(tainted('NoExecute'))).toEqual(['web-0-1']);
    expect(names(tainted('NoSchedule'))).toEqual([]);
  });
});
