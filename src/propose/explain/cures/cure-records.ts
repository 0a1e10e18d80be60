import { type Amount, amountOf } from '../../../model/amount.js';
import type { Cure } from '../../../model/explanation.js';
import type { Amounts } from '../../../model/parts/amounts.js';
import type { TenantSpec } from '../../../model/kinds/tenant.js';
import { mergePatched } from '../../../model/merge-patch.js';
import {
  type NodeAccount,
  nodeAccountKey,
  type NodeEpoch,
  nodeEpochKey,
  objectKey,
  statusKey,
  tenantAccountKey,
} from '../../../model/records.js';
import type { CellState } from '../../cell-state.js';
import type { ClassKey } from '../../contract.js';

type Record = readonly [key: string, value: unknown];

/** The records that a cure changes, as they are and as they would be once everybody has done what follows from it. */
interface CuredRecords {
  readonly before: readonly Record[];
  readonly after: readonly Record[];
}

function curedRecords(cell: CellState, classKey: ClassKey, cure: Cure): CuredRecords {
  const { change, name } = cure;
  if (change.type === 'Create') return createdNode(name, change);
  if (change.type === 'Register') return registeredNode(cell, name, change.allocatable);
  const { patch } = change;
  switch (cure.kind) {
    case 'Node': {
      const key = objectKey('Node', undefined, name);
      const node = cell.nodes.nodes[cell.nodes.rowOf(name) ?? -1];
      return { before: [[key, node]], after: [[key, mergePatched(node, patch)]] };
    }
    case 'PriorityClass': {
      const key = objectKey('PriorityClass', undefined, name);
      const before = { spec: cell.priorityClasses.get(name) };
      return { before: [[key, before]], after: [[key, mergePatched(before, patch)]] };
    }
    case 'Tenant':
      return curedTenant(cell, name, patch);
    case 'Workload': {
      // The workload controller makes a revision of it; here the one there is stands for that.
      const key = `/o/WorkloadRevision/${classKey}`;
      const before = cell.revision(classKey);
      return { before: [[key, before]], after: [[key, mergePatched(before, patch)]] };
    }
  }
}

/** A cell that is its own global plane grants a tenant its limit. */
function curedTenant(cell: CellState, name: string, patch: unknown): CuredRecords {
  const key = objectKey('Tenant', undefined, name);
  const accountKey = tenantAccountKey(name);
  const { spec, account } = cell.tenant(name);
  const cured = mergePatched({ spec }, patch) as { readonly spec: TenantSpec };
  const { grant } = account;
  return {
    before: [
      [key, { spec }],
      [accountKey, account],
    ],
    after: [
      [key, cured],
      [
        accountKey,
        {
          ...account,
          ...(grant !== undefined && { grant: { ...grant, most: amountOf(cured.spec.limit ?? {}) } }),
        },
      ],
    ],
  };
}

const idsOf = (name: string, count: number): string[] =>
  Array.from({ length: Math.max(0, count) }, (_, index) => `new-${name}-${index}`);

function registeredNode(cell: CellState, name: string, offered: Amounts): CuredRecords {
  const key = nodeAccountKey(name);
  const account = cell.nodes.accounts[cell.nodes.rowOf(name) ?? -1];
  if (account === undefined) return { before: [], after: [] };
  const more = amountOf(offered);
  const devices = { ...account.devices };
  for (const [device, count] of Object.entries(more.devices ?? {})) {
    const ids = devices[device] ?? [];
    devices[device] = [...ids, ...idsOf(device, count - ids.length)];
  }
  const allocatable: Amount = {
    ...account.allocatable,
    ...more,
    devices: { ...account.allocatable.devices, ...more.devices },
  };
  return {
    before: [[key, account]],
    after: [[key, { ...account, allocatable, devices } satisfies NodeAccount]],
  };
}

function createdNode(name: string, { region, zone, labels, allocatable }: NewNode): CuredRecords {
  const amount = amountOf(allocatable);
  const devices = Object.fromEntries(
    Object.entries(amount.devices ?? {}).map(([device, count]) => [device, idsOf(device, count)]),
  );
  const after: readonly Record[] = [
    [objectKey('Node', undefined, name), { metadata: { name, labels }, spec: { region, zone } }],
    [statusKey('Node', undefined, name), { status: { agent: {} } }],
    [nodeEpochKey(name), { epoch: { cell: 1, number: 1 }, state: 'Open', operation: '' } satisfies NodeEpoch],
    [
      nodeAccountKey(name),
      {
        gate: { state: 'Open', since: '' },
        allocatable: amount,
        devices,
        used: {},
        claims: { devices: {}, ports: {} },
        revisions: {},
      } satisfies NodeAccount,
    ],
  ];
  return { before: after.map(([key]) => [key, undefined]), after };
}

type NewNode = Extract<Cure['change'], { type: 'Create' }>;

/** What a look at the cell says as if a cure had been applied. The cell is left as it was. */
export function asIfCured<T>(cell: CellState, classKey: ClassKey, cure: Cure, look: () => T): T {
  const { before, after } = curedRecords(cell, classKey, cure);
  for (const [key, value] of after) cell.apply(key, value);
  try {
    return look();
  } finally {
    for (const [key, value] of before) cell.apply(key, value);
  }
}
