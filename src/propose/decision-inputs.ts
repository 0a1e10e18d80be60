import { ownValue } from '../model/amount.js';
import { isRequired } from '../model/placement-rules.js';
import type { Policy } from '../model/policy.js';
import {
  type NodeAccount,
  nodeAccountKey,
  nodeEpochKey,
  objectKey,
  statusKey,
  tenantAccountKey,
} from '../model/records.js';
import type { CellState } from './cell-state.js';
import type { ClassKey, NodeAgeMs, PendingReplica } from './contract.js';
import type { StoredNode } from './node-table.js';
import type { Plugin } from './plugin.js';
import type { SchedulingClass } from './scheduling-class.js';
import type { DomainCounts, Surroundings } from './surroundings.js';

/** What a decision was made from, as far as it matters: enough to make it again where nothing else is there. */
export type DecisionInputs = {
  readonly form: 1;
  readonly classKey: ClassKey;
  readonly version: string;
  readonly seed: number;
  readonly policy: Policy;
  readonly replicas: readonly PendingReplica[];
  readonly around: Surroundings;
  readonly agesMs: Readonly<Record<string, number>>;
  /** Records of the cell by key, without what no filter or score looks at; accounts with what was assumed. */
  readonly records: readonly (readonly [key: string, value: unknown])[];
  /** The modules of custom rules that took part: they must be given again. */
  readonly plugins?: readonly Pick<Plugin, 'source' | 'digest'>[];
};

/** Notes what a turn looks at: nodes as they were before anything of the turn was placed on them. */
export class InputsNotes {
  readonly #rows = new Set<number>();
  readonly #records: (readonly [string, unknown])[] = [];
  readonly #agesMs: Record<string, number> = {};
  readonly #revisions = new Set<ClassKey>();
  readonly #relevant: readonly ClassKey[];
  readonly #around: Surroundings;
  #lastRow = -1;

  constructor(
    private readonly cell: CellState,
    private readonly cls: SchedulingClass,
    private readonly ages: NodeAgeMs,
    around: Surroundings,
  ) {
    this.#around = copied(around);
    this.#relevant = [
      ...new Set([
        ...cls.apartKeys,
        ...(cls.spread.length > 0 ? cls.ownKeys : []),
        ...[...cls.affinity, ...cls.antiAffinity].flatMap(({ keys }) => keys),
      ]),
    ];
  }

  /** Notes a node, if it is not noted yet. */
  note(row: number): void {
    // Who packs places many in a row on one node.
    if (row === this.#lastRow || this.#rows.has(row)) return;
    this.#lastRow = row;
    this.#rows.add(row);
    const { nodes } = this.cell;
    const name = nodes.names[row];
    const node = nodes.nodes[row];
    if (name === undefined || node === undefined) return;
    const { fencing, drivers, processTenants } = nodes.statusAt(row)?.agent ?? {};
    const agent = {
      ...(fencing && { fencing }),
      ...(drivers && { drivers }),
      ...(processTenants && { processTenants }),
    };
    this.#records.push(nodeRecord(node));
    if (Object.keys(agent).length > 0)
      this.#records.push([statusKey('Node', undefined, name), { status: { agent } }]);
    const epoch = nodes.epochs[row];
    if (epoch !== undefined)
      this.#records.push([
        nodeEpochKey(name),
        { epoch, state: nodes.isEpochOpen(row) ? 'Open' : 'Closed', operation: '' },
      ]);
    const account = nodes.accounts[row];
    if (account !== undefined) this.#records.push([nodeAccountKey(name), this.#accountAt(row, account)]);
    const ageMs = this.ages(name);
    if (ageMs !== undefined) this.#agesMs[name] = ageMs;
  }

  /** The account of a node with what is assumed there, without what this class does not ask about. */
  #accountAt(row: number, { gate, allocatable, devices, claims }: NodeAccount): NodeAccount {
    const { nodes } = this.cell;
    const { cls } = this;
    const usedDevices: Record<string, number> = {};
    const claimed: Record<string, string> = {};
    // Also of those that it does not ask for: whether they lie idle is a score.
    for (const { name, allocatable: all, free } of nodes.devices)
      if ((all[row] as number) > 0) usedDevices[name] = (all[row] as number) - (free[row] as number);
    for (const { column } of cls.devices) {
      const ids = ownValue(devices, column.name) ?? [];
      for (const id of ids.slice(0, ids.length - (column.idsFree[row] as number))) claimed[id] = 'another';
    }
    const revisions: Record<string, number> = {};
    for (const key of this.#relevant) {
      const count = nodes.revisionRows.countAt(key, row);
      if (count === 0) continue;
      revisions[key] = count;
      this.#revisions.add(key);
    }
    const ports = cls.ports.length === 0 ? {} : { ...claims.ports };
    for (const port of cls.ports) {
      const number = Number(port.split(':')[1]);
      if (nodes.isPortClaimed(row, number)) ports[number] ??= 'another';
    }
    return {
      gate,
      allocatable,
      devices: cls.devices.length === 0 ? {} : devices,
      used: {
        cpuMilli: (nodes.cpuAllocatable[row] as number) - (nodes.cpuFree[row] as number),
        memoryBytes: (nodes.memoryAllocatable[row] as number) - (nodes.memoryFree[row] as number),
        replicas: nodes.replicas[row] as number,
        ...(allocatable.devices !== undefined && { devices: usedDevices }),
      },
      claims: { devices: claimed, ports },
      revisions,
    };
  }

  /** All of it. The tenant's account is given as it was before the turn. */
  finish(about: {
    readonly replicas: readonly PendingReplica[];
    readonly seed: number;
    readonly policy: Policy;
    readonly tenantAccount: unknown;
    readonly plugins: NonNullable<DecisionInputs['plugins']>;
  }): DecisionInputs {
    const { cell, cls } = this;
    const { tenant, spec } = cls;
    const regions = new Set([...(spec.placement?.regions ?? []), spec.placement?.near?.region ?? '']);
    for (const row of this.#rows) regions.add(cell.nodes.shapeAt(row)?.region ?? '');
    // Rules of spreading compare with every region that has some of them, if the tenant may be there.
    for (const region in this.#around.own.regions) regions.add(region);
    this.#revisions.add(cls.key);
    const workload = cell.workload(tenant, spec.workload).stored;
    const { onNodeLost, type } = workload?.spec ?? {};
    const { residency, guaranteed } = cell.tenant(tenant).spec ?? {};
    const className = spec.priorityClassName ?? 'default';
    const records: (readonly [string, unknown])[] = [
      ...[...this.#revisions].map((key): [string, unknown] => [
        `/o/WorkloadRevision/${key}`,
        key === cls.key ? cell.revision(key) : neighbourOnly(cell, key),
      ]),
      ...[...regions].flatMap((name): [string, unknown][] =>
        cell.regions.has(name)
          ? [[objectKey('Region', undefined, name), { spec: cell.regions.get(name) }]]
          : [],
      ),
      [objectKey('PriorityClass', undefined, className), { spec: cell.priorityClasses.get(className) ?? {} }],
      [
        objectKey('Tenant', undefined, tenant),
        { spec: { ...(residency && { residency }), ...(guaranteed && { guaranteed }) } },
      ],
      [tenantAccountKey(tenant), about.tenantAccount],
      [
        objectKey('Workload', tenant, spec.workload),
        {
          metadata: {
            name: spec.workload,
            namespace: tenant,
            generation: workload?.metadata.generation ?? 0,
          },
          spec: { ...(type && { type }), ...(onNodeLost && { onNodeLost }) },
        },
      ],
      ...this.#records,
    ];
    return {
      form: 1,
      classKey: cls.key,
      version: cell.version,
      seed: about.seed,
      policy: about.policy,
      replicas: about.replicas,
      around: this.#around,
      agesMs: this.#agesMs,
      records,
      ...(about.plugins.length > 0 && { plugins: about.plugins }),
    };
  }
}

const nodeRecords = new WeakMap<StoredNode, readonly [string, unknown]>();

/** A node with what filters look at: one record for all decisions, as long as the node is the same. */
function nodeRecord(node: StoredNode): readonly [string, unknown] {
  let record = nodeRecords.get(node);
  if (record === undefined) {
    const { name, labels, deletionTimestamp } = node.metadata;
    const metadata = { name, ...(labels && { labels }), ...(deletionTimestamp && { deletionTimestamp }) };
    record = [objectKey('Node', undefined, name), { metadata, spec: node.spec }];
    nodeRecords.set(node, record);
  }
  return record;
}

/** A revision with what rules about neighbours look at. */
function neighbourOnly(cell: CellState, key: ClassKey): unknown {
  const revision = cell.revision(key);
  if (revision === undefined) return undefined;
  const { metadata, spec } = revision;
  const antiAffinity = spec.placement?.antiAffinity?.filter(isRequired) ?? [];
  return {
    metadata: { name: metadata.name, ...(metadata.namespace && { namespace: metadata.namespace }) },
    spec: {
      workload: spec.workload,
      revision: spec.revision,
      template: { run: {}, ...(spec.template.labels && { labels: spec.template.labels }) },
      ...(antiAffinity.length > 0 && { placement: { antiAffinity } }),
    },
  };
}

const copiedCounts = ({ zones, regions, total }: DomainCounts): DomainCounts => ({
  zones: { ...zones },
  regions: { ...regions },
  total,
});

/** A turn changes the counts as it places; what is noted, or run again, must be of its own. */
export const copied = ({ own, affinity, antiAffinity, failures }: Surroundings): Surroundings => ({
  own: copiedCounts(own),
  affinity: affinity.map(copiedCounts),
  antiAffinity: antiAffinity.map(copiedCounts),
  failures,
});
