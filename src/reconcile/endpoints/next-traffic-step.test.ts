import { describe, expect, it } from 'vitest';
import type { Node } from '../../model/kinds/node.js';
import type { Stage } from '../../model/stages.js';
import { nodeOf, replicaOf, type ReplicaShape } from '../workload/workload.fixture.js';
import { isListedAt, nextTrafficStep, permitsFor, type TrafficInput } from './next-traffic-step.js';

const nodeAt = (reachability: string): Node => ({ ...nodeOf('n1'), status: { reachability } }) as Node;
const passing: ReplicaShape = { readiness: { isPassing: true } };
const failing: ReplicaShape = { readiness: { isPassing: false, message: 'HTTP 503' } };
const listed: ReplicaShape = { isListed: true };
const asked: ReplicaShape = {
  intent: { actor: 'drain:x', reason: 'Drained', operation: 'o', at: '2026-01-01T00:00:00Z' },
};
const superseded: ReplicaShape = {
  conditions: [
    {
      ...{ type: 'Superseded', status: 'True', reason: 'Replaced', message: 'web-0-2' },
      lastTransitionTime: '2026-01-01T00:00:00Z',
    },
  ],
};

type Row = readonly [
  what: string,
  stage: Stage,
  shape: ReplicaShape,
  more: Partial<TrafficInput>,
  step: string,
  isListed: boolean,
];

const table: readonly Row[] = [
  ['not ready yet', 'Starting', {}, {}, 'Out', false],
  ['ready, and nothing asks for more', 'Ready', {}, {}, 'Enter', false],
  [
    'ready, and not for long enough',
    'Ready',
    passing,
    { minReadySeconds: 10, readyMs: 4_000 },
    'Wait',
    false,
  ],
  ['ready for long enough', 'Ready', passing, { minReadySeconds: 10, readyMs: 10_000 }, 'Enter', false],
  ['ready, and its probe fails', 'Ready', failing, {}, 'Out', false],
  ['ready on a node that is late', 'Ready', {}, { node: nodeAt('Suspect') }, 'Enter', false],
  ['ready on a node that is lost', 'Ready', {}, { node: nodeAt('Lost') }, 'Out', false],
  ['heard of again, still listed', 'Ready', listed, { minReadySeconds: 10 }, 'Enter', true],
  ['serves', 'Serving', listed, {}, 'List', true],
  ['serving, and was taken out of the endpoints before', 'Serving', {}, {}, 'Withdrawn', false],
  [
    ...(['serving, taken out, on a node that is lost with many others', 'Serving', {}] as const),
    ...([{ node: nodeAt('Lost'), brake: 'many' }, 'Withdrawn', false] as const),
  ],
  ['serves, and its probe fails', 'Serving', { ...listed, ...failing }, {}, 'Leave', false],
  ['serves on a node that is late', 'Serving', listed, { node: nodeAt('Suspect') }, 'List', true],
  ['its node has just been lost', 'Serving', listed, { node: nodeAt('Lost'), settlesMs: 1 }, 'List', true],
  ['its node is lost', 'Serving', listed, { node: nodeAt('Lost') }, 'Leave', false],
  ['its node is not known', 'Serving', listed, { node: undefined }, 'Leave', false],
  [
    ...(['its node is lost with many others', 'Serving', listed] as const),
    ...([{ node: nodeAt('Lost'), brake: 'many' }, 'Keep', true] as const),
  ],
  [
    ...(['many are lost, and its probe had failed', 'Serving', { ...listed, ...failing }] as const),
    ...([{ node: nodeAt('Lost'), brake: 'many' }, 'Leave', false] as const),
  ],
  ['not known whether it runs', 'Unknown', listed, { node: nodeAt('Lost') }, 'Out', false],
  [
    ...(['not known, before it is seen who else is silent', 'Unknown', listed] as const),
    ...([{ node: nodeAt('Lost'), settlesMs: 1 }, 'List', true] as const),
  ],
  [
    ...([
      'not known, replaced, before it is seen who else is',
      'Unknown',
      { ...listed, ...superseded },
    ] as const),
    ...([{ node: nodeAt('Lost'), settlesMs: 1 }, 'Out', false] as const),
  ],
  ['not known, and its node is heard of', 'Unknown', listed, { settlesMs: 1 }, 'Out', false],
  [
    ...(['not known, with many others', 'Unknown', listed] as const),
    ...([{ node: nodeAt('Lost'), brake: 'many' }, 'Keep', true] as const),
  ],
  [
    ...(['not known, never listed, with many others', 'Unknown', {}] as const),
    ...([{ node: nodeAt('Lost'), brake: 'many' }, 'Out', false] as const),
  ],
  [
    ...(['not known and shall stop', 'Unknown', { ...listed, ...asked }] as const),
    ...([{ node: nodeAt('Lost'), brake: 'many' }, 'Out', false] as const),
  ],
  [
    ...(['not known, with many others, and replaced', 'Unknown', { ...listed, ...superseded }] as const),
    ...([{ node: nodeAt('Lost'), brake: 'many' }, 'Out', false] as const),
  ],
  ['shall stop', 'Releasing', { ...listed, ...asked }, {}, 'Out', false],
  ['was restarted', 'Starting', listed, {}, 'Out', false],
];

describe('nextTrafficStep', () => {
  it.each(table)('a replica that is %s', (_what, stage, shape, more, kind, isThere) => {
    const replica = replicaOf(0, stage, shape);
    const step = nextTrafficStep({
      ...{ replica, node: nodeAt('Fresh'), minReadySeconds: 0, readyMs: 0, settlesMs: 0, brake: undefined },
      ...more,
    });
    expect([step.kind, isListedAt(step, replica)]).toEqual([kind, isThere]);
    expect(permitsFor(step).map(({ deed }) => deed)).toEqual(
      kind === 'Keep' ? ['keepEndpoints'] : kind === 'Leave' ? ['leaveEndpoints'] : [],
    );
  });

  it('says how long is left, and why one leaves', () => {
    const base = { node: nodeAt('Fresh'), readyMs: 4_000, settlesMs: 0, brake: undefined };
    expect(nextTrafficStep({ ...base, replica: replicaOf(0, 'Ready'), minReadySeconds: 10 })).toEqual({
      kind: 'Wait',
      ms: 6_000,
    });
    const serving = replicaOf(0, 'Serving', failing);
    expect(nextTrafficStep({ ...base, replica: serving, minReadySeconds: 0 })).toEqual({
      kind: 'Leave',
      on: 'readinessFailed',
      reason: 'ReadinessLost',
      message: 'HTTP 503',
    });
  });
});
