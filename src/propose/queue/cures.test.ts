import { describe, expect, it } from 'vitest';
import { emptyTenantAccount, type NodeAccount } from '../../model/records.js';
import { cureOf } from './cures.js';

const account: NodeAccount = {
  gate: { state: 'Open', since: '2026-01-01T00:00:00Z' },
  allocatable: { cpuMilli: 8_000 },
  devices: {},
  used: { cpuMilli: 4_000 },
  claims: { devices: { 'gpu-0': 'a' }, ports: {} },
  revisions: { 'fraud/web-1': 2 },
};
const node = { metadata: { name: 'n', labels: { pool: 'gpu' } }, spec: { taints: [] } };
const granted = { most: { cpuMilli: 1 }, epoch: { cell: 1, number: 1 }, source: 'Whole' as const };

describe('what a change can cure', () => {
  it.each([
    [
      'nothing when a node gets fuller',
      '/a/node/n',
      account,
      { ...account, used: { cpuMilli: 5_000 } },
      undefined,
    ],
    [
      'NodeFull when a node gets emptier',
      '/a/node/n',
      account,
      { ...account, used: { cpuMilli: 3_000 } },
      'NodeFull',
    ],
    [
      'NodeFull when a node offers more',
      '/a/node/n',
      account,
      { ...account, allocatable: { cpuMilli: 9_000 } },
      'NodeFull',
    ],
    [
      'DeviceTaken when a device is given up',
      '/a/node/n',
      account,
      { ...account, claims: { devices: {}, ports: {} } },
      'DeviceTaken',
    ],
    [
      'AntiAffinity when a neighbour leaves',
      '/a/node/n',
      account,
      { ...account, revisions: { 'fraud/web-1': 1 } },
      'AntiAffinity',
    ],
    [
      'GateClosed when a gate opens',
      '/a/node/n',
      { ...account, gate: { ...account.gate, state: 'Closed' } },
      account,
      'GateClosed',
    ],
    ['NodeFull when a node comes', '/a/node/n', undefined, account, 'NodeFull'],
    [
      'Tainted when a taint goes',
      '/o/Node/_/n',
      { ...node, spec: { taints: [{ key: 'a' }] } },
      node,
      'Tainted',
    ],
    [
      'SelectorMismatch when labels change',
      '/o/Node/_/n',
      node,
      { ...node, metadata: { labels: {} } },
      'SelectorMismatch',
    ],
    [
      'nothing when a node only reports',
      '/s/Node/_/n',
      { status: { addresses: [1] } },
      { status: { addresses: [2] } },
      undefined,
    ],
    ['NodeChanged when a node registers', '/e/n', undefined, {}, 'NodeChanged'],
    ['nothing when a node is gone', '/a/node/n', account, undefined, undefined],
  ] as const)('%s', (_, key, before, after, reason) => {
    const cure = cureOf(key, before, after);
    if (reason === undefined) expect(cure).toBeUndefined();
    else expect(cure?.reasons).toContain(reason);
    expect(cure?.tenant).toBeUndefined();
  });

  it('of a tenant is for that tenant alone: less used, more granted, another residency', () => {
    const used = { ...emptyTenantAccount, used: { cpuMilli: 10 } };
    const cures = [
      cureOf('/a/tenant/fraud', used, emptyTenantAccount),
      cureOf('/a/tenant/fraud', used, { ...used, grant: granted }),
      cureOf('/o/Tenant/_/fraud', {}, {}),
    ];
    expect(cures.map((cure) => cure?.tenant)).toEqual(['fraud', 'fraud', 'fraud']);
    for (const cure of cures) expect(cure?.reasons).toContain('QuotaExceeded');
    expect(cureOf('/a/tenant/fraud', emptyTenantAccount, used)).toBeUndefined();
    expect(cureOf('/a/workload/fraud/web', undefined, {})).toMatchObject({ tenant: 'fraud' });
  });
});
