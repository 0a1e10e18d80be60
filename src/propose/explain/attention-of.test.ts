import { describe, expect, it } from 'vitest';
import { objectOf } from '../../model/fake-objects.fixture.js';
import type { Endpoints } from '../../model/kinds/endpoints.js';
import type { Lease } from '../../model/kinds/lease.js';
import type { Node } from '../../model/kinds/node.js';
import type { Region } from '../../model/kinds/region.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { Workload } from '../../model/kinds/workload.js';
import { type AttentionFacts, attentionOf } from './attention-of.js';

const at = '2026-01-01T00:00:00Z';
const so = (type: string, more: object = {}) => ({ type, status: 'True', lastTransitionTime: at, ...more });
const node = (name: string, status: object, spec: object = {}): Node =>
  objectOf('Node', undefined, name, { spec, status }) as Node;
const workload = (name: string, status: object, spec: object = {}): Workload =>
  objectOf('Workload', 'shop', name, {
    spec: { type: 'Service', template: {}, ...spec },
    status,
  }) as Workload;
const nothing: AttentionFacts = {
  server: { name: 's1', notReady: undefined },
  ...{ nodes: [], regions: [], leases: [], workloads: [], endpoints: [], replicasOf: () => [] },
  nowMs: Date.parse(at),
};
const shown = (facts: Partial<AttentionFacts>): string[] =>
  attentionOf({ ...nothing, ...facts }).map(
    ({ severity, kind, name, reason, nextMove }) => `${severity} ${kind}/${name} ${reason} ${nextMove}`,
  );

const later = (seconds: number): number => Date.parse(at) + seconds * 1_000;

describe('what needs attention', () => {
  it.each<[string, Partial<AttentionFacts>, string[]]>([
    ['nothing', { nodes: [node('n1', { reachability: 'Fresh' })] }, []],
    [
      'a server that is cut off from the store, before what it saw last',
      {
        server: { name: 's1', notReady: { forMs: 5_000, message: 'no leader' } },
        leases: [objectOf('Lease', undefined, 'drain', { spec: { holder: '' } }) as Lease],
      },
      ['Broken Server/s1 NotReady operator', 'Broken Lease/drain NobodyLeads operator'],
    ],
    [
      'a node whose lease has expired',
      { nodes: [node('n1', { reachability: 'Unknown' })] },
      ['Broken Node/n1 NodeUnknown agent:n1'],
    ],
    [
      'a node that is late',
      { nodes: [node('n1', { reachability: 'Suspect' })] },
      ['Degraded Node/n1 NodeSuspect agent:n1'],
    ],
    [
      'a fence that was overrun',
      { nodes: [node('n1', { reachability: 'Fresh', conditions: [so('FenceOverrun')] })] },
      ['Broken Node/n1 FenceOverrun operator'],
    ],
    [
      'a drain that is stuck on another',
      {
        nodes: [
          node(
            'n1',
            { drain: { state: 'Stuck', startedAt: at, replicas: [{ nextMove: 'user:shop' }] } },
            { drain: {} },
          ),
        ],
      },
      ['Degraded Node/n1 DrainStuck user:shop'],
    ],
    [
      'a node that is drained, and switched off',
      {
        nodes: [
          node('n1', { drain: { state: 'Complete', startedAt: at }, reachability: 'Lost' }, { drain: {} }),
        ],
      },
      ['Notice Node/n1 Drained operator'],
    ],
    [
      'a node that is being deleted',
      {
        nodes: [objectOf('Node', undefined, 'n1', { metadata: { deletionTimestamp: at }, spec: {} }) as Node],
      },
      ['Notice Node/n1 BeingDeleted repair-controller'],
    ],
    [
      'a node that is cordoned',
      { nodes: [node('n1', {}, { unschedulable: true })] },
      ['Notice Node/n1 Cordoned operator'],
    ],
    [
      'a region where repair is held back',
      {
        regions: [objectOf('Region', undefined, 'eu', { status: { conditions: [so('Braked')] } }) as Region],
      },
      ['Degraded Region/eu Braked operator'],
    ],
    [
      'a controller that nobody is',
      { leases: [objectOf('Lease', undefined, 'drain', { spec: { holder: '' } }) as Lease] },
      ['Broken Lease/drain NobodyLeads operator'],
    ],
    [
      'a workload that has failed for good',
      { workloads: [workload('sums', { conditions: [so('Failed', { reason: 'BackoffLimitExceeded' })] })] },
      ['Broken Workload/sums BackoffLimitExceeded user:shop'],
    ],
    [
      'a workload of which some are missing, and one of which all are',
      {
        workloads: [
          workload('api', {
            desired: 3,
            servingReplicas: 2,
            progress: { limitedBy: 'Quota', nextMove: 'scheduler' },
          }),
          workload('web', {
            desired: 2,
            servingReplicas: 0,
            progress: { limitedBy: 'Scheduling', nextMove: 'scheduler' },
          }),
        ],
      },
      ['Broken Workload/web LimitedByScheduling scheduler', 'Degraded Workload/api LimitedByQuota scheduler'],
    ],
    [
      'a workload that its user suspended',
      {
        workloads: [workload('web', { desired: 2, progress: { limitedBy: 'Authority' } }, { suspend: true })],
      },
      ['Notice Workload/web Suspended user:shop'],
    ],
    [
      'replicas of unknown fate',
      { workloads: [workload('api', { unknownReplicas: 1 })] },
      ['Degraded Workload/api ReplicasUnknown repair-controller'],
    ],
    [
      'endpoints as last known',
      {
        endpoints: [
          objectOf('Endpoints', 'shop', 'api', { status: { source: 'LastKnown' } }) as unknown as Endpoints,
        ],
      },
      ['Degraded Endpoints/api LastKnown operator'],
    ],
  ])('%s', (_what, facts, expected) => {
    expect(shown(facts)).toEqual(expected);
  });

  it('a replica that only a person can judge is said by name, with what they could attest', () => {
    const replica = objectOf('Replica', 'shop', 'once-0-1', {
      status: {
        ...{ stage: 'Unknown', binding: { node: 'n7' } },
        conditions: [so('NeedsHuman', { message: 'attest that it stopped' })],
      },
    }) as Replica;
    const [item] = attentionOf({
      ...{ ...nothing, replicasOf: () => [replica] },
      workloads: [workload('once', { unknownReplicas: 1 })],
    });
    expect(item).toMatchObject({
      ...{ severity: 'Broken', reason: 'NeedsHuman', nextMove: 'operator' },
      message: 'once-0-1 on n7: attest that it stopped',
    });
  });
});

describe('[L6] a service that is ready and takes no traffic', () => {
  const waits = (limitedBy: string, serving: number, spec: object = {}): Partial<AttentionFacts> => ({
    workloads: [
      workload(
        'api',
        {
          ...{ desired: 3, readyReplicas: 3, servingReplicas: serving },
          progress: { limitedBy, since: at, nextMove: 'agent:n1' },
        },
        spec,
      ),
    ],
  });

  it.each([
    ['Readiness', 0, 'Broken'],
    ['Readiness', 2, 'Degraded'],
    ['Traffic', 0, 'Broken'],
    ['Traffic', 2, 'Degraded'],
  ])('for want of %s, with %d of 3 that serve, is %s', (limitedBy, serving, severity) => {
    const [item, ...more] = attentionOf({ ...nothing, ...waits(limitedBy, serving), nowMs: later(60) });
    expect([item?.severity, item?.reason, more]).toEqual([severity, `LimitedBy${limitedBy}`, []]);
    expect(item?.message).toBe(`${serving} of 3 serve`);
  });

  it('is on its way as long as it has to be ready first, and a moment more', () => {
    expect(shown({ ...waits('Traffic', 0), nowMs: later(9) })).toEqual([]);
    expect(shown({ ...waits('Traffic', 0), nowMs: later(10) })).toHaveLength(1);
    const patient = { template: { minReadySeconds: 60 } };
    expect(shown({ ...waits('Traffic', 0, patient), nowMs: later(69) })).toEqual([]);
    expect(shown({ ...waits('Traffic', 0, patient), nowMs: later(70) })).toHaveLength(1);
    expect(shown({ ...waits('Readiness', 0), nowMs: later(0) })).toHaveLength(1);
  });

  it('is not hidden by those that are on their way, where another is not even ready', () => {
    const status = { desired: 3, readyReplicas: 2, progress: { limitedBy: 'Traffic', since: at } };
    expect(shown({ workloads: [workload('api', status)] })).toHaveLength(1);
  });

  it('a batch that runs as many as it may serves nobody and wants for nothing', () => {
    const status = { desired: 3, readyReplicas: 3, progress: { limitedBy: 'Authority', since: at } };
    expect(shown({ workloads: [workload('sums', status, { type: 'Batch' })], nowMs: later(60) })).toEqual([]);
  });

  it('is said where all that is wanted is on its way out, which no boundary limits', () => {
    const status = {
      ...{ desired: 1, readyReplicas: 0, servingReplicas: 0 },
      progress: { reason: 'Drained', nextMove: 'agent:n1' },
      conditions: [{ type: 'Available', status: 'False', lastTransitionTime: at }],
    };
    const workloads = [workload('api', status)];
    expect(shown({ workloads, nowMs: later(9) })).toEqual([]);
    expect(attentionOf({ ...nothing, workloads, nowMs: later(10) })).toMatchObject([
      { severity: 'Broken', reason: 'NotAllServing', message: '0 of 1 serve: Drained', since: at },
    ]);
  });
});
