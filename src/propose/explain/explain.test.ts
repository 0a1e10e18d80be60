import { describe, expect, it } from 'vitest';
import { example } from '../../model/example.fixture.js';
import type { PlacementFacts } from '../../model/explanation.js';
import { type Gang, gang as gangKind } from '../../model/kinds/gang.js';
import { type Node, node as nodeKind } from '../../model/kinds/node.js';
import { type NodeLedger, nodeLedger } from '../../model/kinds/node-ledger.js';
import { type Replica, replica as replicaKind } from '../../model/kinds/replica.js';
import { type Workload, workload as workloadKind } from '../../model/kinds/workload.js';
import { explainGang } from './explain-gang.js';
import { explainNode } from './explain-node.js';
import { explainReplica } from './explain-replica.js';
import { explainWorkload } from './explain-workload.js';

const at = '2026-01-31T13:05:00Z';
const epoch = { cell: 1, number: 1 };
const node = (fields: object = {}, spec: object = {}): Node =>
  example(nodeKind, { spec, status: { reachability: 'Fresh', ...fields } }, 'n1') as Node;
const moved = (to: string, reason: string): object => ({
  ...{ to, reason, actor: 'somebody', revision: '7', at, operation: `${to}/1` },
});
const replica = (stage: string, status: object = {}, reason = 'Because'): Replica =>
  example(
    replicaKind,
    {
      spec: { workload: 'score', slot: '0', incarnation: 1, revision: 'score-1' },
      status: { stage, transitions: [moved(stage, reason)], ...status },
    },
    'score-0-1',
  ) as Replica;
const onNode = {
  binding: {
    ...{ node: 'n1', nodeEpoch: epoch, fence: '7' },
    receipt: { snapshotRevision: '6', policyRevision: 'builtin', operation: 'bind/1' },
  },
};
const workload = (status: object | undefined, spec: object = {}): Workload =>
  example(
    workloadKind,
    { spec: { type: 'Service', replicas: 3, ...spec }, ...(status !== undefined && { status }) },
    'score',
  ) as unknown as Workload;
const placement = (more: Partial<PlacementFacts> = {}): PlacementFacts => ({
  ...{ replica: 'score-0-1', revision: '9', isPlaceable: false, nodes: 12 },
  fits: { count: 0, nodes: [] },
  rejections: [
    { reason: 'NodeFull', count: 9, nodes: ['n1'], message: 'node n1 has not enough cpu left' },
    { reason: 'Tainted', count: 3, nodes: ['n2'], message: 'node n2 has a taint' },
  ],
  cures: [],
  ...more,
});
const ofReplica = (one: Replica, facts: Partial<Parameters<typeof explainReplica>[0]> = {}) =>
  explainReplica({
    ...{ replica: one, workload: workload({}), revision: undefined, gang: undefined, placement: undefined },
    node: one.status?.binding === undefined ? undefined : node(),
    ...facts,
  });

describe('why, of a replica', () => {
  it.each<[string, Replica, Partial<Parameters<typeof explainReplica>[0]>, object]>([
    [
      'is not for the scheduler yet: Suspended',
      replica('Admitted', {}, 'Suspended'),
      {},
      { state: 'OnItsWay', limitedBy: 'Authority', nextMove: 'workload-controller' },
    ],
    [
      'cannot be placed: none of 12 nodes takes it (9 NodeFull, 3 Tainted)',
      replica('Queued'),
      { placement: placement() },
      { state: 'CannotBePlaced', reason: 'NodeFull', limitedBy: 'Scheduling', nextMove: 'scheduler' },
    ],
    [
      'cannot be placed: tenant bank has too much',
      replica('Queued'),
      {
        placement: placement({
          quota: { reason: 'QuotaExceeded', message: 'tenant bank has too much' },
          fits: { count: 2, nodes: ['n3', 'n4'] },
        }),
      },
      { state: 'CannotBePlaced', reason: 'QuotaExceeded', message: 'tenant bank has too much' },
    ],
    [
      'waits for the scheduler; 2 of 12 nodes would take it now',
      replica('Queued'),
      { placement: placement({ isPlaceable: true, fits: { count: 2, nodes: ['n3', 'n4'] } }) },
      { state: 'OnItsWay', reason: 'NotTriedYet' },
    ],
    [
      'waits for the scheduler; 2 replicas have to leave node n1 for it',
      replica('Queued'),
      { placement: placement({ room: { node: 'n1', evictions: 2 } }) },
      { state: 'OnItsWay', reason: 'NotTriedYet', nextMove: 'scheduler' },
    ],
    [
      'waits for the scheduler; what it needs comes free on node n1',
      replica('Queued'),
      { placement: placement({ room: { node: 'n1', evictions: 0 } }) },
      { state: 'OnItsWay' },
    ],
    [
      'holds capacity and is not bound yet: Because',
      replica('Scheduled'),
      {},
      { limitedBy: 'Binding', nextMove: 'scheduler' },
    ],
    [
      'is bound on n1 and its agent has not reported a start: Because',
      replica('Bound', onNode),
      {},
      { limitedBy: 'NodeStart', nextMove: 'agent:n1', deadline: '2026-01-31T13:10:00Z', node: 'n1' },
    ],
    [
      'runs on n1 and is not ready yet: waiting for a probe',
      replica('Starting', { ...onNode, driverId: '1', step: 'waiting for a probe' }),
      {},
      { limitedBy: 'Readiness', nextMove: 'agent:n1' },
    ],
    [
      'is ready on n1 and takes no traffic yet: Because',
      replica('Ready', onNode),
      {},
      { limitedBy: 'Traffic', nextMove: 'endpoints-controller' },
    ],
    ['serves on n1', replica('Serving', onNode), {}, { state: 'AsWanted' }],
    [
      'is of unknown fate on n1: Because: nobody knows whether it runs',
      replica('Unknown', onNode),
      { node: node({ reachability: 'Lost' }) },
      { state: 'Unknown', nextMove: 'repair-controller', notes: ['node n1 is Lost'] },
    ],
    [
      'has failed: Exited',
      replica('Failed', { exitCode: 7 }, 'Exited'),
      {},
      { state: 'Failed', notes: ['its last execution ended with 7'] },
    ],
    ['was released: Drained', replica('Released', {}, 'Drained'), {}, { state: 'Ended' }],
  ])('%s', (words, one, facts, expected) => {
    const explained = ofReplica(one, facts);
    expect(explained.answer).toBe(`replica default/score-0-1 ${words}`);
    expect(explained).toMatchObject(expected);
  });

  it('tells of a gang that has not started, and of who asked for its release', () => {
    const gang = example(
      gangKind,
      { spec: { workload: 'score', minAvailable: 3 }, status: { state: 'Reserving', holds: 1 } },
      'g',
    ) as Gang;
    const intent = { actor: 'drain', reason: 'Drained', operation: 'x', at };
    expect(ofReplica(replica('Queued', { intent }), { gang }).notes).toEqual([
      'drain asked for its release: Drained',
      'its gang g is Reserving: 1 of 3 hold capacity',
    ]);
  });
});

describe('why, of a workload', () => {
  const progress = {
    stages: { Queued: 1 },
    limitedBy: 'Scheduling',
    reason: 'NodeFull',
    nextMove: 'scheduler',
    since: at,
  };
  it.each<[string, Workload, Replica[], PlacementFacts | undefined, object]>([
    [
      'has changed (generation 1) and the workload controller has not looked at it yet',
      workload(undefined),
      [],
      undefined,
      { state: 'OnItsWay', limitedBy: 'Authority', nextMove: 'workload-controller' },
    ],
    [
      'is as it should be: 3 of 3 serve',
      workload({
        observedGeneration: 1,
        desired: 3,
        servingReplicas: 3,
        progress: { stages: { Serving: 3 } },
      }),
      [replica('Serving')],
      undefined,
      { state: 'AsWanted' },
    ],
    [
      'cannot be placed: none of 12 nodes takes score-0-1 (9 NodeFull, 3 Tainted); 2 of 3 serve',
      workload({ observedGeneration: 1, desired: 3, servingReplicas: 2, progress }),
      [replica('Queued')],
      placement(),
      { state: 'CannotBePlaced', limitedBy: 'Scheduling', reason: 'NodeFull', since: at },
    ],
    [
      'cannot be placed: none of 12 nodes takes score-0-1 (9 NodeFull, 3 Tainted); 0 of 3 serve',
      workload({
        ...{ observedGeneration: 1, desired: 3, servingReplicas: 0 },
        // Most wait for traffic; the answer is about the one that has no place.
        progress: {
          stages: {},
          limitedBy: 'Traffic',
          reason: 'ReadyOnNode',
          nextMove: 'endpoints-controller',
        },
      }),
      [
        replica('Queued', {
          conditions: [
            ...[
              {
                type: 'SchedulingRetrying',
                status: 'True',
                reason: 'Tainted',
                message: 'as it was an hour ago',
              },
            ],
          ],
        }),
      ],
      placement(),
      {
        ...{ limitedBy: 'Scheduling', reason: 'Tainted', message: 'node n2 has a taint' },
        ...{ nextMove: 'scheduler', since: at, operation: 'Queued/1' },
      },
    ],
    [
      'cannot be placed: tenant bank has too much; 4 of 9 have succeeded',
      workload(
        { observedGeneration: 1, desired: 3, batch: { succeeded: 4 }, progress },
        { type: 'Batch', batch: { completions: 9 } },
      ),
      [replica('Queued')],
      placement({
        ...{ quota: { reason: 'QuotaExceeded', message: 'tenant bank has too much' } },
        fits: { count: 2, nodes: ['n3', 'n4'] },
      }),
      { limitedBy: 'Quota', reason: 'QuotaExceeded', message: 'tenant bank has too much' },
    ],
    [
      'is not complete: 2 of 3 serve; 1 replica has to leave node n1 for score-0-1',
      workload({ observedGeneration: 1, desired: 3, servingReplicas: 2, progress }),
      [replica('Queued')],
      placement({ room: { node: 'n1', evictions: 1 } }),
      { state: 'OnItsWay' },
    ],
    [
      'is not complete: 2 of 3 serve; it waits at NodeStart: Pulling',
      workload({
        ...{ observedGeneration: 1, desired: 3, servingReplicas: 2 },
        progress: { stages: {}, limitedBy: 'NodeStart', reason: 'Pulling', nextMove: 'agent:n1' },
      }),
      [replica('Bound', onNode)],
      undefined,
      { state: 'OnItsWay', nextMove: 'agent:n1' },
    ],
    [
      'is not complete: 2 of 3 serve; it waits: NodeLost',
      workload({
        ...{ observedGeneration: 1, desired: 3, servingReplicas: 2 },
        progress: { stages: {}, reason: 'NodeLost', nextMove: 'repair-controller' },
      }),
      [replica('Unknown', onNode)],
      undefined,
      { state: 'Unknown', nextMove: 'repair-controller' },
    ],
  ])('%s', (words, one, replicas, facts, expected) => {
    const explained = explainWorkload({ workload: one, replicas, placement: facts });
    expect(explained.answer).toBe(`workload default/score ${words}`);
    expect(explained).toMatchObject(expected);
  });
});

describe('why, of a gang', () => {
  const gang = (status: object): Gang =>
    example(gangKind, { spec: { workload: 'score', minAvailable: 3 }, status }, 'g') as Gang;
  it.each<[string, Gang, PlacementFacts | undefined, object]>([
    ['has started together', gang({ state: 'Committed' }), undefined, { state: 'AsWanted' }],
    [
      'is Reserving and has not started: 1 of 3 hold capacity',
      gang({ state: 'Reserving', holds: 1 }),
      undefined,
      { state: 'OnItsWay', reason: 'GangIncomplete', nextMove: 'scheduler' },
    ],
    [
      'cannot start: 2 of 3 members find a place at once: none of 12 nodes takes one more (9 NodeFull, 3 Tainted); 0 of 3 hold capacity',
      gang({ state: 'Waiting' }),
      placement({ together: { places: 2, wanted: 3 } }),
      { state: 'CannotBePlaced', reason: 'NodeFull', limitedBy: 'Scheduling' },
    ],
    [
      'cannot start: 0 of 3 members find a place at once: tenant bank has too much; 0 of 3 hold capacity',
      gang({ state: 'Waiting' }),
      placement({
        ...{ together: { places: 0, wanted: 3 }, fits: { count: 2, nodes: ['n3', 'n4'] } },
        quota: { reason: 'QuotaExceeded', message: 'tenant bank has too much' },
      }),
      { state: 'CannotBePlaced', reason: 'QuotaExceeded', limitedBy: 'Quota' },
    ],
  ])('%s', (words, one, facts, expected) => {
    const explained = explainGang({ gang: one, members: [replica('Queued')], placement: facts });
    expect(explained.answer).toBe(`gang default/g ${words}`);
    expect(explained).toMatchObject(expected);
  });
});

describe('why, of a node', () => {
  const ledger = (gate: object = { state: 'Open' }): NodeLedger =>
    example(
      nodeLedger,
      { status: { gate, allocatable: { cpu: '8' }, used: { cpu: '2' } } },
      'n1',
    ) as unknown as NodeLedger;
  it.each<[string, Node, NodeLedger | undefined, object]>([
    ['takes new work', node(), ledger(), { state: 'AsWanted', stages: { Serving: 1 } }],
    [
      'takes nothing new: no agent has registered it',
      node(),
      undefined,
      { reason: 'NotRegistered', nextMove: 'agent:n1' },
    ],
    [
      'takes nothing new: its gate is closed (Suspect)',
      node(),
      ledger({ state: 'Closed', reason: 'Suspect' }),
      { reason: 'GateClosed' },
    ],
    [
      'takes nothing new: it is being drained (old disk)',
      node({}, { drain: { reason: 'old disk' } }),
      ledger(),
      { reason: 'Tainted', nextMove: 'drain' },
    ],
    [
      'takes nothing new: it is unschedulable',
      node({ reachability: 'Lost' }, { unschedulable: true }),
      ledger(),
      { state: 'Unknown', nextMove: 'operator' },
    ],
  ])('%s', (words, one, account, expected) => {
    const explained = explainNode({ node: one, ledger: account, replicas: [replica('Serving', onNode)] });
    expect(explained.answer).toBe(`node n1 ${words}`);
    expect(explained).toMatchObject(expected);
  });
});
