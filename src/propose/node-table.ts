import type { NodeStatus } from '../model/kinds/node.js';
import type { Node } from '../model/kinds/node.js';
import { ownValue } from '../model/amount.js';
import { zoneKey } from '../model/placement-rules.js';
import { type Epoch, type NodeAccount, type NodeEpoch, recoveryPoolLabel } from '../model/records.js';
import { RowIndex } from './row-index.js';

/** What stands under /o/Node. */
export interface StoredNode {
  readonly metadata: Pick<Node['metadata'], 'name' | 'labels' | 'deletionTimestamp'>;
  readonly spec: Node['spec'];
}

/** Where a node is. */
export interface NodeDomain {
  readonly region: string;
  readonly zone: string;
  /** The zone's name in counts, made once: to make it each time somebody counts would cost more than the counting. */
  readonly zoneKey: string;
}

/**
 * All of a node that its operator and its agent say, and that does not change with what is placed there. Nodes that
 * say the same share one shape, so that rules about it are judged once for all of them.
 */
export interface NodeShape extends NodeDomain {
  readonly id: number;
  /** The number of its zone among all zones of the cell. */
  readonly domain: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: NonNullable<Node['spec']['taints']>;
  readonly tenants: readonly string[];
  readonly isUnschedulable: boolean;
  readonly isDraining: boolean;
  readonly isDeleting: boolean;
  readonly isRecoveryPool: boolean;
  readonly canFence: boolean;
  readonly drivers: readonly string[];
  /** Undefined: every tenant's. */
  readonly processTenants: readonly string[] | undefined;
}

/** How much of one class of devices each node has left, counted twice as the authority does: as an amount and as ids. */
export interface DeviceColumn {
  readonly name: string;
  allocatable: Int32Array;
  free: Int32Array;
  idsFree: Int32Array;
  assumed: Int32Array;
}

const hasNode = 1;
const hasAccount = 2;
const hasEpoch = 4;
const hasStatus = 8;
const isGateOpen = 16;
const isEpochOpen = 32;
const hasRevisions = 64;
const isThere = hasNode | hasAccount | hasEpoch | hasStatus;
/** A node that is there for placing: registered, its epoch and its gate open. */
const takesWork = hasNode | hasAccount | hasEpoch | isGateOpen | isEpochOpen;

const rowsFirst = 64;
/** How many changes back it is known which row it was. Who asks about more has to look at all rows. */
const changesKept = 16_384;

/**
 * The nodes of a cell, one row each, in columns: what is asked of every node for every class is a typed array, so that
 * a look at all of them touches little memory and allocates nothing.
 *
 * Invariants:
 * - a row belongs to one node while any record of it is there; then it is given to another.
 * - free = allocatable − used, as the account says, − assumed.
 */
export class NodeTable {
  /** Rows in use are below this; some of them may be empty. */
  rows = 0;
  /** Grows with every change; `changedAt` says at which a row was last changed. */
  clock = 0;
  /** Grows when a row is given up: it may be another node's afterwards. */
  rowsGivenUp = 0;
  /** Grows when the number of a shape is given to another shape. */
  shapesVersion = 0;
  readonly names: (string | undefined)[] = [];
  readonly nodes: (StoredNode | undefined)[] = [];
  readonly accounts: (NodeAccount | undefined)[] = [];
  readonly epochs: (Epoch | undefined)[] = [];
  readonly shapes: (NodeShape | undefined)[] = [];
  /** The zones of the cell, in the order they were first seen. They are few, so none is ever given up. */
  readonly domains: NodeDomain[] = [];
  readonly devices: DeviceColumn[] = [];
  /** How many charged or assumed replicas of each revision are on which rows, by `TENANT/REVISION`. */
  readonly revisionRows = new RowIndex();
  /** How many that are assumed claim a port, by row: `row:port`. */
  readonly #portsAssumed = new Map<string, number>();

  nameHashes = new Uint32Array(rowsFirst);
  generations = new Uint32Array(rowsFirst);
  shapeIds = new Int32Array(rowsFirst);
  changedAt = new Float64Array(rowsFirst);
  /** At which change of the table a replica that the node is charged with was last changed. */
  occupantsChangedAt = new Float64Array(rowsFirst);
  cpuAllocatable = new Float64Array(rowsFirst);
  cpuFree = new Float64Array(rowsFirst);
  memoryAllocatable = new Float64Array(rowsFirst);
  memoryFree = new Float64Array(rowsFirst);
  replicas = new Int32Array(rowsFirst);
  /** Which row each of the last changes was of, by the clock: an entry whose row has changed again since is out of date. */
  readonly #changes = new Int32Array(changesKept);
  #flags = new Uint8Array(rowsFirst);
  #cpuAssumed = new Float64Array(rowsFirst);
  #memoryAssumed = new Float64Array(rowsFirst);
  #replicasAssumed = new Int32Array(rowsFirst);

  readonly #rowOf = new Map<string, number>();
  readonly #freeRows: number[] = [];
  readonly #statuses: (NodeStatus | undefined)[] = [];
  readonly #shapeOf = new Map<string, { readonly shape: NodeShape; users: number; readonly key: string }>();
  readonly #shapeKeys: (string | undefined)[] = [];
  readonly #freeShapes: number[] = [];
  readonly #domainOf = new Map<string, number>();
  readonly #deviceClass = new Map<string, number>();

  /** How many nodes there are: those with an object. */
  nodeCount = 0;

  /** Rows are below this, until the table grows. */
  get capacity(): number {
    return this.nameHashes.length;
  }

  rowOf(name: string): number | undefined {
    return this.#rowOf.get(name);
  }

  isNode(row: number): boolean {
    return ((this.#flags[row] as number) & hasNode) !== 0;
  }

  /** Whether the node is registered, under an open epoch and gate. */
  takesWork(row: number): boolean {
    return ((this.#flags[row] as number) & takesWork) === takesWork;
  }

  isEpochOpen(row: number): boolean {
    const needed = hasAccount | hasEpoch | isEpochOpen;
    return ((this.#flags[row] as number) & needed) === needed;
  }

  /** Whether nothing is charged there, nor assumed: two such nodes of one shape that offer the same are alike but for their names. */
  isUntouched(row: number): boolean {
    return (
      ((this.#flags[row] as number) & hasRevisions) === 0 &&
      this.replicas[row] === 0 &&
      this.cpuFree[row] === this.cpuAllocatable[row] &&
      this.memoryFree[row] === this.memoryAllocatable[row]
    );
  }

  /** Whether two rows that nothing is charged on offer the same. */
  offersSame(a: number, b: number): boolean {
    if (this.cpuAllocatable[a] !== this.cpuAllocatable[b]) return false;
    if (this.memoryAllocatable[a] !== this.memoryAllocatable[b]) return false;
    for (let at = 0; at < this.devices.length; at += 1) {
      const { allocatable, free, idsFree } = this.devices[at] as DeviceColumn;
      if (allocatable[a] !== allocatable[b] || free[a] !== free[b] || idsFree[a] !== idsFree[b]) return false;
    }
    return true;
  }

  /**
   * The rows that changed after the clock stood there, each once, written to `into`: how many; undefined if there are
   * more than that takes, or it is too long ago.
   */
  changedSince(clock: number, into: Int32Array): number | undefined {
    if (this.clock - clock > changesKept) return undefined;
    let count = 0;
    for (let at = clock + 1; at <= this.clock; at += 1) {
      const row = this.#changes[at % changesKept] as number;
      if (this.changedAt[row] !== at) continue;
      if (count === into.length) return undefined;
      into[count++] = row;
    }
    return count;
  }

  shapeAt(row: number): NodeShape | undefined {
    return this.shapes[this.shapeIds[row] as number];
  }

  statusAt(row: number): NodeStatus | undefined {
    return this.#statuses[row];
  }

  deviceColumn(name: string): DeviceColumn {
    let id = this.#deviceClass.get(name);
    if (id === undefined) {
      id = this.devices.length;
      this.#deviceClass.set(name, id);
      const size = this.nameHashes.length;
      this.devices.push({
        name,
        allocatable: new Int32Array(size),
        free: new Int32Array(size),
        idsFree: new Int32Array(size),
        assumed: new Int32Array(size),
      });
    }
    return this.devices[id] as DeviceColumn;
  }

  isPortClaimed(row: number, port: number): boolean {
    return this.accounts[row]?.claims.ports[port] !== undefined || this.#portsAssumed.has(`${row}:${port}`);
  }

  setNode(name: string, node: StoredNode | undefined): void {
    const row = this.#row(name, node !== undefined);
    if (row === undefined) return;
    if (this.isNode(row) !== (node !== undefined)) this.nodeCount += node === undefined ? -1 : 1;
    this.nodes[row] = node;
    this.#flag(row, hasNode, node !== undefined);
    this.#reshape(row);
    this.#changed(row);
  }

  setStatus(name: string, status: NodeStatus | undefined): void {
    const row = this.#row(name, status !== undefined);
    if (row === undefined) return;
    this.#statuses[row] = status;
    this.#flag(row, hasStatus, status !== undefined);
    this.#reshape(row);
    this.#changed(row);
  }

  setEpoch(name: string, record: NodeEpoch | undefined): void {
    const row = this.#row(name, record !== undefined);
    if (row === undefined) return;
    this.epochs[row] = record?.epoch;
    this.#flag(row, hasEpoch, record !== undefined);
    this.#flag(row, isEpochOpen, record?.state === 'Open');
    this.#changed(row);
  }

  /** The hot one: every bind and every release changes the account of one node. */
  setAccount(name: string, account: NodeAccount | undefined): void {
    const row = this.#row(name, account !== undefined);
    if (row === undefined) return;
    const before = this.accounts[row];
    this.accounts[row] = account;
    this.revisionRows.move(row, before?.revisions, account?.revisions);
    this.#flag(row, hasAccount, account !== undefined);
    this.#flag(row, isGateOpen, account?.gate.state === 'Open');
    this.#flag(row, hasRevisions, hasAny(account?.revisions));
    this.#count(row);
    if (account?.allocatable.devices !== undefined || before?.allocatable.devices !== undefined)
      this.#countDevices(row);
    this.#changed(row);
  }

  occupantsChanged(name: string): void {
    const row = this.#rowOf.get(name);
    if (row === undefined) return;
    this.#tick(row);
    this.occupantsChangedAt[row] = this.clock;
  }

  /** What somebody remembers of the node apart from its own records is another now. */
  memoryChanged(name: string): void {
    const row = this.#rowOf.get(name);
    if (row !== undefined) this.#changed(row);
  }

  /** Charges a row with one replica more (or less) than its account says. */
  addAssumed(row: number, cpuMilli: number, memoryBytes: number, more: 1 | -1): void {
    (this.#cpuAssumed[row] as number) += more * cpuMilli;
    (this.#memoryAssumed[row] as number) += more * memoryBytes;
    (this.#replicasAssumed[row] as number) += more;
    (this.cpuFree[row] as number) -= more * cpuMilli;
    (this.memoryFree[row] as number) -= more * memoryBytes;
    (this.replicas[row] as number) += more;
    this.#changed(row);
  }

  addAssumedDevices(row: number, name: string, more: number): void {
    const column = this.deviceColumn(name);
    (column.assumed[row] as number) += more;
    (column.free[row] as number) -= more;
    (column.idsFree[row] as number) -= more;
  }

  addAssumedPort(row: number, port: number, more: 1 | -1): void {
    const key = `${row}:${port}`;
    const count = (this.#portsAssumed.get(key) ?? 0) + more;
    if (count === 0) this.#portsAssumed.delete(key);
    else this.#portsAssumed.set(key, count);
  }

  #changed(row: number): void {
    this.#tick(row);
    this.changedAt[row] = this.clock;
    if (((this.#flags[row] as number) & isThere) === 0) this.#giveUp(row);
  }

  #tick(row: number): void {
    this.clock += 1;
    this.#changes[this.clock % changesKept] = row;
  }

  #flag(row: number, bit: number, isSet: boolean): void {
    if (isSet) (this.#flags[row] as number) |= bit;
    else (this.#flags[row] as number) &= ~bit;
  }

  #count(row: number): void {
    const { allocatable, used } = this.accounts[row] ?? { allocatable: {}, used: {} };
    const cpu = allocatable.cpuMilli ?? 0;
    const memory = allocatable.memoryBytes ?? 0;
    this.cpuAllocatable[row] = cpu;
    this.memoryAllocatable[row] = memory;
    this.cpuFree[row] = cpu - (used.cpuMilli ?? 0) - (this.#cpuAssumed[row] as number);
    this.memoryFree[row] = memory - (used.memoryBytes ?? 0) - (this.#memoryAssumed[row] as number);
    this.replicas[row] = (used.replicas ?? 0) + (this.#replicasAssumed[row] as number);
  }

  #countDevices(row: number): void {
    const account = this.accounts[row];
    for (const name of Object.keys(account?.allocatable.devices ?? {})) this.deviceColumn(name);
    for (const column of this.devices) {
      const offered = ownValue(account?.allocatable.devices, column.name) ?? 0;
      const assumed = column.assumed[row] as number;
      column.allocatable[row] = offered;
      column.free[row] = offered - (ownValue(account?.used.devices, column.name) ?? 0) - assumed;
      let unclaimed = 0;
      for (const id of ownValue(account?.devices, column.name) ?? [])
        if (ownValue(account?.claims.devices, id) === undefined) unclaimed += 1;
      column.idsFree[row] = unclaimed - assumed;
    }
  }

  #row(name: string, isMade: boolean): number | undefined {
    const known = this.#rowOf.get(name);
    if (known !== undefined || !isMade) return known;
    const row = this.#freeRows.pop() ?? this.rows;
    if (row === this.rows) {
      if (row === this.nameHashes.length) this.#grow();
      this.rows += 1;
    }
    this.#rowOf.set(name, row);
    this.names[row] = name;
    this.nameHashes[row] = hashOf(name);
    this.shapeIds[row] = -1;
    return row;
  }

  #giveUp(row: number): void {
    this.#rowOf.delete(this.names[row] as string);
    this.names[row] = undefined;
    this.#flags[row] = 0;
    this.#cpuAssumed[row] = 0;
    this.#memoryAssumed[row] = 0;
    this.#replicasAssumed[row] = 0;
    for (const column of this.devices) column.assumed[row] = 0;
    this.revisionRows.clear(row);
    for (const key of this.#portsAssumed.keys())
      if (key.startsWith(`${row}:`)) this.#portsAssumed.delete(key);
    (this.generations[row] as number) += 1;
    this.rowsGivenUp += 1;
    this.#freeRows.push(row);
  }

  #grow(): void {
    const size = 2 * this.nameHashes.length;
    this.nameHashes = grown(this.nameHashes, new Uint32Array(size));
    this.generations = grown(this.generations, new Uint32Array(size));
    this.shapeIds = grown(this.shapeIds, new Int32Array(size));
    this.changedAt = grown(this.changedAt, new Float64Array(size));
    this.occupantsChangedAt = grown(this.occupantsChangedAt, new Float64Array(size));
    this.cpuAllocatable = grown(this.cpuAllocatable, new Float64Array(size));
    this.cpuFree = grown(this.cpuFree, new Float64Array(size));
    this.memoryAllocatable = grown(this.memoryAllocatable, new Float64Array(size));
    this.memoryFree = grown(this.memoryFree, new Float64Array(size));
    this.replicas = grown(this.replicas, new Int32Array(size));
    this.#flags = grown(this.#flags, new Uint8Array(size));
    this.#cpuAssumed = grown(this.#cpuAssumed, new Float64Array(size));
    this.#memoryAssumed = grown(this.#memoryAssumed, new Float64Array(size));
    this.#replicasAssumed = grown(this.#replicasAssumed, new Int32Array(size));
    for (const column of this.devices) {
      column.allocatable = grown(column.allocatable, new Int32Array(size));
      column.free = grown(column.free, new Int32Array(size));
      column.idsFree = grown(column.idsFree, new Int32Array(size));
      column.assumed = grown(column.assumed, new Int32Array(size));
    }
  }

  #reshape(row: number): void {
    const node = this.nodes[row];
    const before = this.#shapeKeys[row];
    const key = node === undefined ? undefined : shapeKey(node, this.#statuses[row]);
    if (key === before) return;
    this.#shapeKeys[row] = key;
    this.shapeIds[row] = key === undefined || node === undefined ? -1 : this.#shape(key, node, row);
    if (before !== undefined) this.#dropShape(before);
  }

  #shape(key: string, node: StoredNode, row: number): number {
    const known = this.#shapeOf.get(key);
    if (known !== undefined) {
      known.users += 1;
      return known.shape.id;
    }
    const reused = this.#freeShapes.pop();
    if (reused !== undefined) this.shapesVersion += 1;
    const id = reused ?? this.shapes.length;
    const { region = 'local', zone = 'local', taints = [], tenants = [], unschedulable, drain } = node.spec;
    const labels = node.metadata.labels ?? {};
    const agent = this.#statuses[row]?.agent;
    const domain = this.#domain(region, zone);
    const shape: NodeShape = {
      id,
      ...(this.domains[domain] as NodeDomain),
      domain,
      labels,
      taints,
      tenants,
      isUnschedulable: unschedulable === true,
      isDraining: drain !== undefined,
      isDeleting: node.metadata.deletionTimestamp !== undefined,
      isRecoveryPool: labels[recoveryPoolLabel] === 'true',
      canFence: agent?.fencing !== 'Unsupported',
      drivers: agent?.drivers ?? [],
      processTenants: agent?.processTenants,
    };
    this.shapes[id] = shape;
    this.#shapeOf.set(key, { shape, users: 1, key });
    return id;
  }

  #dropShape(key: string): void {
    const entry = this.#shapeOf.get(key);
    if (entry === undefined || (entry.users -= 1) > 0) return;
    this.#shapeOf.delete(key);
    this.shapes[entry.shape.id] = undefined;
    this.#freeShapes.push(entry.shape.id);
  }

  #domain(region: string, zone: string): number {
    const key = zoneKey({ region, zone });
    let domain = this.#domainOf.get(key);
    if (domain === undefined) {
      domain = this.domains.length;
      this.#domainOf.set(key, domain);
      this.domains.push({ region, zone, zoneKey: key });
    }
    return domain;
  }
}

function hasAny(values: Readonly<Record<string, number>> | undefined): boolean {
  for (const _ in values) return true;
  return false;
}

function grown<T extends Float64Array | Int32Array | Uint32Array | Uint8Array>(from: T, to: T): T {
  to.set(from);
  return to;
}

/** Nodes with the same key have the same shape. */
function shapeKey({ metadata, spec }: StoredNode, status: NodeStatus | undefined): string {
  const labels = Object.entries(metadata.labels ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([
    spec.region ?? 'local',
    spec.zone ?? 'local',
    labels,
    spec.taints ?? [],
    spec.tenants ?? [],
    spec.unschedulable === true,
    spec.drain !== undefined,
    metadata.deletionTimestamp !== undefined,
    status?.agent?.fencing !== 'Unsupported',
    status?.agent?.drivers ?? [],
    status?.agent?.processTenants ?? null,
  ]);
}

/** FNV-1a, 32 bits. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}
