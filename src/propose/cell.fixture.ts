import type { Replica } from '../model/kinds/replica.js';
import {
  type NodeAccount,
  nodeAccountKey,
  nodeEpochKey,
  objectKey,
  statusKey,
  type TenantAccount,
  tenantAccountKey,
} from '../model/records.js';
import { CellState } from './cell-state.js';
import type { PendingReplica } from './contract.js';

export interface NodeOptions {
  readonly cpuMilli?: number;
  readonly memoryBytes?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly spec?: object;
  readonly agent?: object;
  readonly account?: Partial<NodeAccount>;
}

/** A picture of a cell that tests put together in a word, as records would. */
export class TestPicture {
  constructor(readonly cell = new CellState()) {
    this.put('PriorityClass', undefined, 'default', { value: 0 });
    this.tenant('bank');
  }

  put(kind: string, namespace: string | undefined, name: string, spec: object, metadata: object = {}): void {
    this.cell.apply(objectKey(kind, namespace, name), {
      metadata: {
        name,
        ...(namespace !== undefined && { namespace }),
        uid: `uid-${name}`,
        generation: 1,
        ...metadata,
      },
      spec,
    });
  }

  tenant(name: string, spec: object = {}, account: Partial<TenantAccount> = {}): void {
    this.put('Tenant', undefined, name, spec);
    this.cell.apply(tenantAccountKey(name), {
      grant: { most: {}, epoch: { cell: 1, number: 1 }, source: 'Whole' },
      used: {},
      borrowed: {},
      lost: {},
      ...account,
    } satisfies TenantAccount);
  }

  node(name: string, options: NodeOptions = {}): NodeAccount {
    const {
      cpuMilli = 8_000,
      memoryBytes = 16 * 1024 ** 3,
      labels,
      spec = {},
      agent = {},
      account,
    } = options;
    this.put('Node', undefined, name, spec, labels === undefined ? {} : { labels });
    this.cell.apply(statusKey('Node', undefined, name), { status: { agent } });
    this.cell.apply(nodeEpochKey(name), { epoch: { cell: 1, number: 1 }, state: 'Open', operation: 'x' });
    const full: NodeAccount = {
      gate: { state: 'Open', since: '' },
      allocatable: { cpuMilli, memoryBytes },
      devices: {},
      used: {},
      claims: { devices: {}, ports: {} },
      revisions: {},
      ...account,
    };
    this.cell.apply(nodeAccountKey(name), full);
    return full;
  }

  /** A workload of tenant bank with one revision; the key of the class. */
  workload(
    name: string,
    resources: object = {},
    more: { placement?: object; template?: object; spec?: object } = {},
  ): string {
    const template = { run: { process: { command: ['work'] } }, resources, ...more.template };
    const common = { template, placement: more.placement ?? {}, priorityClassName: 'default' };
    this.put('Workload', 'bank', name, { type: 'Service', ...common, ...more.spec });
    this.put('WorkloadRevision', 'bank', `${name}-r1`, { workload: name, revision: 1, ...common });
    return `bank/${name}-r1`;
  }

  /** Replicas of a workload of tenant bank that wait. */
  pending(workload: string, count = 1, more: Partial<PendingReplica> = {}): PendingReplica[] {
    return Array.from({ length: count }, (_, slot) => {
      const name = `${workload}-${slot}-1`;
      this.put('Replica', 'bank', name, {
        workload,
        slot: String(slot),
        incarnation: 1,
        revision: `${workload}-r1`,
      });
      this.replicaStatus(name, { stage: 'Queued' });
      return {
        tenant: 'bank',
        name,
        uid: `uid-${name}`,
        classKey: `bank/${workload}-r1`,
        workload,
        slot: String(slot),
        sinceMs: 0,
        ...more,
      };
    });
  }

  replicaStatus(name: string, status: NonNullable<Replica['status']>): void {
    this.cell.apply(statusKey('Replica', 'bank', name), { status });
  }
}
