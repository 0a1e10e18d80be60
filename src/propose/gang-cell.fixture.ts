import type { ReplicaStatus } from '../model/kinds/replica.js';
import { builtinPolicy } from '../model/policy.js';
import { objectKey, statusKey } from '../model/records.js';
import { CellCore } from './cell-core.js';
import type { PendingReplica } from './contract.js';
import { MapRecords } from './small-cell.fixture.js';

const epoch = { cell: 1, number: 1 };

/** The account of a node for one replica. */
export const gangNodeAccount = (isUsed: boolean): object => ({
  ...{ gate: { state: 'Open', since: '' }, allocatable: { cpuMilli: 1_000, memoryBytes: 2 ** 30 } },
  ...{ devices: {}, used: isUsed ? { cpuMilli: 1_000, replicas: 1 } : {} },
  ...{ claims: { devices: {}, ports: {} }, revisions: {} },
});

/** The status of what fills a node and leaves it when a gang of tenant `a` asks. */
export const guestStatus = (node: string, more: Partial<ReplicaStatus> = {}): object => ({
  status: {
    ...{ stage: 'Ready', binding: { node, fence: '1' } },
    charge: {
      ...{ tenant: 'b', node, rank: 'Borrowed', amounts: { cpu: '1' } },
      ...{ workload: `old-${node}`, revision: `old-${node}-1`, region: 'local', zone: 'local' },
    },
    ...more,
  },
});

/** The real core over records in a map: so many nodes for one replica each, full or not, and gangs of tenant `a`. */
export function openGangCell(nodes: number, { areFull }: { readonly areFull: boolean }) {
  const records = new MapRecords();
  const core = new CellCore({ policy: builtinPolicy, seed: 1, ages: () => 0, plugins: [] });
  records.follow((key, value) => core.apply(key, value), new AbortController().signal);
  const put = (kind: string, namespace: string | undefined, name: string, spec: object): void =>
    records.put({
      [objectKey(kind, namespace, name)]: {
        metadata: { name, ...(namespace !== undefined && { namespace }), uid: `uid-${name}`, generation: 1 },
        spec,
      },
    });
  const workload = (namespace: string, name: string, priorityClassName: string): void => {
    const template = { run: { process: { command: ['x'] } }, resources: { cpu: '1' } };
    const common = { template, priorityClassName };
    put('Workload', namespace, name, { type: 'Batch', ...common });
    put('WorkloadRevision', namespace, `${name}-1`, { workload: name, revision: 1, ...common });
  };
  put('PriorityClass', undefined, 'default', { value: 0 });
  put('PriorityClass', undefined, 'high', { value: 10 });
  for (const tenant of ['a', 'b']) {
    put('Tenant', undefined, tenant, {});
    records.put({
      [`/a/tenant/${tenant}`]: {
        ...{ grant: { most: {}, epoch, source: 'Whole' }, used: {}, borrowed: {}, lost: {} },
      },
    });
  }
  for (let at = 0; at < nodes; at++) {
    const name = `n${at}`;
    put('Node', undefined, name, {});
    records.put({
      [statusKey('Node', undefined, name)]: { status: { agent: {} } },
      [`/e/${name}`]: { epoch, state: 'Open', operation: 'x' },
      [`/a/node/${name}`]: gangNodeAccount(areFull),
    });
    if (!areFull) continue;
    workload('b', `old-${name}`, 'default');
    put('Replica', 'b', `guest-${name}`, {
      ...{ workload: `old-${name}`, slot: '0', incarnation: 1, revision: `old-${name}-1` },
    });
    records.put({ [statusKey('Replica', 'b', `guest-${name}`)]: guestStatus(name) });
  }
  /** All of its members have to start together. */
  const gang = (name: string, members: number): readonly PendingReplica[] => {
    workload('a', name, 'high');
    put('Gang', 'a', name, { workload: name, minAvailable: members, members });
    return Array.from({ length: members }, (_, index) => {
      const [slot, replica] = [String(index), `${name}-${index}`];
      put('Replica', 'a', replica, {
        ...{ workload: name, slot, incarnation: 1, revision: `${name}-1`, gang: name },
      });
      records.put({ [statusKey('Replica', 'a', replica)]: { status: { stage: 'Queued' } } });
      return {
        ...{ tenant: 'a', name: replica, uid: `uid-${replica}`, classKey: `a/${name}-1`, workload: name },
        ...{ slot, sinceMs: 0, gang: name },
      };
    });
  };
  return { records, core, gang };
}
