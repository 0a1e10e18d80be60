import type { NodeAccount } from '../src/model/records.js';
import {
  nodeAccountKey,
  nodeEpochKey,
  objectKey,
  statusKey,
  tenantAccountKey,
  type TenantAccount,
} from '../src/model/records.js';
import type { Turn } from '../src/propose/contract.js';
import { CellState } from '../src/propose/cell-state.js';

const gibi = 1024 ** 3;

const stored = (
  kind: string,
  namespace: string | undefined,
  name: string,
  spec: object,
  labels?: object,
) => ({
  apiVersion: 'berth.dev/v1',
  kind,
  metadata: {
    name,
    ...(namespace !== undefined && { namespace }),
    uid: `uid-${kind}-${namespace ?? ''}-${name}`,
    generation: 1,
    creationTimestamp: '2026-01-01T00:00:00Z',
    ...(labels !== undefined && { labels }),
  },
  spec,
});

export interface NodeShare {
  readonly cpuMilli: number;
  readonly memoryBytes: number;
  readonly gpus?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly region?: string;
  readonly zone?: string;
  readonly taints?: readonly object[];
}

/** A picture of a cell, put together record by record as a scheduler would see it. */
export class DecideCell {
  readonly cell = new CellState();

  put(kind: string, namespace: string | undefined, name: string, spec: object, labels?: object): void {
    this.cell.apply(objectKey(kind, namespace, name), stored(kind, namespace, name, spec, labels));
  }

  tenant(name: string): void {
    this.put('Tenant', undefined, name, { weight: 1 });
    const account: TenantAccount = {
      grant: { most: {}, epoch: { cell: 1, number: 1 }, source: 'Whole' },
      used: {},
      borrowed: {},
      lost: {},
    };
    this.cell.apply(tenantAccountKey(name), account);
  }

  node(
    name: string,
    { cpuMilli, memoryBytes, gpus = 0, labels, region, zone, taints }: NodeShare,
  ): NodeAccount {
    this.put(
      'Node',
      undefined,
      name,
      {
        ...(region !== undefined && { region }),
        ...(zone !== undefined && { zone }),
        ...(taints !== undefined && { taints }),
      },
      labels,
    );
    this.cell.apply(statusKey('Node', undefined, name), { status: { agent: {} } });
    this.cell.apply(nodeEpochKey(name), { epoch: { cell: 1, number: 1 }, state: 'Open', operation: 'x' });
    const account: NodeAccount = {
      gate: { state: 'Open', since: '' },
      allocatable: { cpuMilli, memoryBytes, ...(gpus > 0 && { devices: { gpu: gpus } }) },
      devices: gpus > 0 ? { gpu: Array.from({ length: gpus }, (_, at) => `${name}-gpu-${at}`) } : {},
      used: {},
      claims: { devices: {}, ports: {} },
      revisions: {},
    };
    this.cell.apply(nodeAccountKey(name), account);
    return account;
  }

  /** A workload of a tenant with its first revision; the key of the class. */
  workload(
    tenantName: string,
    name: string,
    resources: object,
    { placement, priorityClassName = 'default' }: { placement?: object; priorityClassName?: string } = {},
  ): string {
    const template = { run: { process: { command: ['work'] } }, resources, execution: 'AtLeastOne' };
    const common = { template, ...(placement !== undefined && { placement }), priorityClassName };
    this.put('Workload', tenantName, name, { type: 'Service', ...common });
    this.put('WorkloadRevision', tenantName, `${name}-1`, { workload: name, revision: 1, ...common });
    return `${tenantName}/${name}-1`;
  }

  /** So many replicas of a class that wait, in turns of at most `most`. */
  turns(classKey: string, count: number, most: number): Turn[] {
    const [tenant = '', revision = ''] = classKey.split('/');
    const workload = revision.replace(/-1$/, '');
    const replicas = Array.from({ length: count }, (_, slot) => ({
      tenant,
      name: `${workload}-${slot}-1`,
      uid: `uid-${workload}-${slot}`,
      classKey,
      workload,
      slot: String(slot),
      sinceMs: 0,
    }));
    const turns: Turn[] = [];
    for (let at = 0; at < count; at += most)
      turns.push({ classKey, replicas: replicas.slice(at, at + most) });
    return turns;
  }
}

export { gibi };
