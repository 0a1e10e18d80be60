import { describe, expect, it } from 'vitest';
import { emptyTenantAccount, emptyWorkloadAccount, type NodeAccount } from '../../model/records.js';
import { allCures, type ParkReason, parkReasons } from './cures.js';

const { ofRecord: curesOf, ofEasing: curesOfEasing } = allCures;

const account: NodeAccount = {
  gate: { state: 'Open', since: '2026-01-01T00:00:00Z' },
  allocatable: { cpuMilli: 8_000 },
  devices: { gpu: ['gpu-0'] },
  used: { cpuMilli: 4_000 },
  claims: { devices: { 'gpu-0': 'a' }, ports: { 80: 'a' } },
  revisions: { 'fraud/web-1': 2 },
};
const node = { metadata: { name: 'n', labels: { pool: 'gpu' } }, spec: { taints: [] } };
const used = { ...emptyTenantAccount, used: { cpuMilli: 10 } };
const granted = { most: { cpuMilli: 1 }, epoch: { cell: 1, number: 1 }, source: 'Whole' as const };
const lost = (action: string) => ({ spec: { onNodeLost: { action } } });
const limit = (maxUnavailable: number) => ({ spec: { disruption: { maxUnavailable } } });
const agent = (drivers: readonly string[]) => ({ status: { agent: { drivers } } });

/** Changes of records: what each of them is called below. */
const changes = {
  'a node comes': ['/o/Node/_/n', undefined, node],
  'a node is registered': ['/a/node/n', undefined, account],
  'a node shows its status for the first time': ['/s/Node/_/n', undefined, agent([])],
  'a node has its first epoch': ['/e/n', undefined, {}],
  'a node gets emptier': ['/a/node/n', account, { ...account, used: { cpuMilli: 3_000 } }],
  'a node offers more': ['/a/node/n', account, { ...account, allocatable: { cpuMilli: 9_000 } }],
  'a device is given up': ['/a/node/n', account, { ...account, claims: { ...account.claims, devices: {} } }],
  'a device is found': ['/a/node/n', account, { ...account, devices: { gpu: ['gpu-0', 'gpu-1'] } }],
  'a port is given up': ['/a/node/n', account, { ...account, claims: { ...account.claims, ports: {} } }],
  'a neighbour leaves': ['/a/node/n', account, { ...account, revisions: { 'fraud/web-1': 1 } }],
  'a gate opens': ['/a/node/n', { ...account, gate: { ...account.gate, state: 'Closed' } }, account],
  'a gate closes': ['/a/node/n', account, { ...account, gate: { ...account.gate, state: 'Closed' } }],
  'a node registers again': ['/e/n', {}, {}],
  'a taint goes': ['/o/Node/_/n', { ...node, spec: { taints: [{ key: 'a' }] } }, node],
  'a node that was being deleted is another one': [
    '/o/Node/_/n',
    { ...node, metadata: { ...node.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } },
    node,
  ],
  'a label changes': ['/o/Node/_/n', node, { ...node, metadata: { labels: {} } }],
  'an agent has another driver': ['/s/Node/_/n', agent([]), agent(['process'])],
  'an agent runs processes of more tenants': [
    '/s/Node/_/n',
    { status: { agent: { processTenants: ['default'] } } },
    { status: { agent: {} } },
  ],
  'a tenant uses less': ['/a/tenant/fraud', { ...used, borrowed: used.used }, emptyTenantAccount],
  'a tenant is granted more': ['/a/tenant/fraud', used, { ...used, grant: granted }],
  'a tenant uses less of its guarantee': ['/a/tenant/fraud', used, { ...used, borrowed: used.used }],
  'a tenant changes': ['/o/Tenant/_/fraud', {}, {}],
  'a region changes': ['/o/Region/_/eu', {}, {}],
  'a region is gone': ['/o/Region/_/eu', {}, undefined],
  'a priority class changes': ['/o/PriorityClass/_/high', {}, {}],
  'a priority class is gone': ['/o/PriorityClass/_/high', {}, undefined],
  'a workload relies on its fence no more': ['/o/Workload/fraud/web', lost('Fence'), lost('Wait')],
  'a workload may be disrupted more': ['/o/Workload/fraud/web', limit(0), limit(1)],
  'a workload is disrupted less': [
    '/a/workload/fraud/web',
    { ...emptyWorkloadAccount, disrupted: 1 },
    emptyWorkloadAccount,
  ],
  'replicas of a workload come or go': ['/a/workload/fraud/web', undefined, emptyWorkloadAccount],
  'a revision comes': ['/o/WorkloadRevision/fraud/web-2', undefined, {}],
} as const;

const comes = [
  ...(['a node comes', 'a node is registered'] as const),
  ...(['a node shows its status for the first time', 'a node has its first epoch'] as const),
] as const;
const changed = [
  'a taint goes',
  'a node that was being deleted is another one',
  'a label changes',
  'an agent has another driver',
  'an agent runs processes of more tenants',
] as const;
const shown = [...comes, ...changed] as const;
const frees = [
  ...(['a node gets emptier', 'a node offers more', 'a device is given up', 'a device is found'] as const),
  'a port is given up',
] as const;
const room = [
  ...shown,
  ...frees,
  ...(['a tenant uses less of its guarantee', 'a tenant changes'] as const),
  ...(['a priority class changes', 'a priority class is gone'] as const),
  ...(['a workload may be disrupted more', 'a workload is disrupted less', 'a gate closes'] as const),
] as const;
const neighbours = [
  'a neighbour leaves',
  'replicas of a workload come or go',
  'a workload is disrupted less',
] as const;
const quota = ['a tenant uses less', 'a tenant is granted more'] as const;
const opens = [...comes, 'a gate opens', 'a node registers again'] as const;

/** All that cures each reason. */
const cured: Readonly<Record<ParkReason, readonly (keyof typeof changes)[]>> = {
  NodeFull: room,
  DeviceTaken: room,
  PortTaken: room,
  QuotaExceeded: quota,
  GrantExhausted: quota,
  RegionNotAllowed: shown,
  ZoneNotAllowed: shown,
  ResidencyNotAllowed: [...shown, 'a tenant changes', 'a region changes', 'a region is gone'],
  TenancyNotAllowed: shown,
  SelectorMismatch: shown,
  Tainted: shown,
  FenceUnsupported: [...shown, 'a workload relies on its fence no more'],
  PoolReserved: [...shown, 'a priority class changes', 'a priority class is gone'],
  DriverMissing: shown,
  AntiAffinity: [...shown, ...neighbours, 'a revision comes'],
  AffinityUnmet: [...changed, ...neighbours],
  SpreadViolated: [...shown, ...neighbours, 'a tenant changes', 'a region changes', 'a region is gone'],
  PluginRefused: [...shown, ...frees],
  GateClosed: opens,
  NodeChanged: opens,
  NodeStale: comes,
  NoNode: comes,
  ReplicaChanged: ['a revision comes'],
};

describe('what is parked under a reason is woken by exactly these changes', () => {
  it.each(parkReasons)('%s', (reason) => {
    const waking = Object.entries(changes)
      .filter(([, [key, before, after]]) =>
        curesOf(key, before, after).some((cure) => cure.reasons.includes(reason)),
      )
      .map(([name]) => name);
    expect(waking.toSorted()).toEqual([...cured[reason]].toSorted());
  });
});

describe('what a change can cure', () => {
  it.each([
    ['a node gets fuller', '/a/node/n', account, { ...account, used: { cpuMilli: 5_000 } }],
    ['a node only reports', '/s/Node/_/n', { status: { addresses: [1] } }, { status: { addresses: [2] } }],
    ['a tenant uses more', '/a/tenant/fraud', emptyTenantAccount, used],
    ['a tenant borrows', '/a/tenant/fraud', emptyTenantAccount, { ...used, borrowed: used.used }],
    ['a workload is scaled', '/o/Workload/fraud/web', { spec: { replicas: 1 } }, { spec: { replicas: 2 } }],
    ['a workload comes', '/o/Workload/fraud/web', undefined, { ...lost('Fence'), ...limit(1) }],
    ['a lease is renewed', '/l/scheduler', {}, {}],
    ['a node is gone', '/a/node/n', account, undefined],
    ['a gang starts', '/s/Gang/fraud/web', {}, {}],
  ])('is nothing when %s', (_, key, before, after) => {
    expect(curesOf(key, before, after)).toEqual([]);
  });

  it('is for one tenant where others have no part in it', () => {
    for (const [key, before, after] of [
      changes['a tenant uses less'],
      changes['a tenant is granted more'],
      changes['a tenant uses less of its guarantee'],
      changes['a tenant changes'],
      changes['a workload relies on its fence no more'],
      changes['replicas of a workload come or go'],
      changes['a neighbour leaves'],
    ])
      expect(curesOf(key, before, after).map(({ tenant }) => tenant)).toEqual(['fraud']);
  });

  it('is limited by the room that there is now, and for who may preempt by all that the node has', () => {
    expect(curesOf(...changes['a node gets emptier'])).toMatchObject([
      { room: { cpuMilli: 5_000 }, isFaint: false },
      { room: { cpuMilli: 8_000 }, isFaint: true },
    ]);
  });

  it('[L10] is for those alone that may rank above a replica which comes and can be asked to leave', () => {
    const above = { priority: 5, isBorrowed: true };
    expect(curesOfEasing({ kind: 'Came', above }, undefined)).toMatchObject([
      { change: 'VictimsEased', above, isFaint: true },
    ]);
  });

  it('is time for what no record says', () => {
    expect(allCures.ofTime().reasons).toEqual(['PluginRefused', 'NodeStale']);
  });

  it('is room, quota, neighbours and victims when something that was on its way is given up', () => {
    const easing = { kind: 'GivenUp', node: 'n', tenant: 'fraud' } as const;
    const cures = curesOfEasing(easing, account);
    for (const reason of ['NodeFull', 'QuotaExceeded', 'SpreadViolated', 'AntiAffinity'] as const)
      expect(cures.filter(({ reasons: all }) => all.includes(reason)).length).toBeGreaterThan(0);
    expect(cures.find(({ room: some }) => some !== undefined)?.room).toEqual({ cpuMilli: 4_000 });
    expect(curesOfEasing({ ...easing, kind: 'Found' }, account)).toMatchObject([{ isFaint: true }]);
  });
});
