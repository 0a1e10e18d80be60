import type { Amount } from './amount.js';
import type { fenceContract } from './fence-contract.js';
import { madeOnce, sameAgain } from './made-once.js';

/**
 * What the authority keeps beside objects (DESIGN §5, "stored form"), with the keys it stands under. Here and
 * not in commit, because checkers read it and know only the model.
 */

/** Grows at every change of holder; a write under an older one never commits (S8). */
export interface Epoch {
  /** The incarnation of the cell, which grows when its store is restored or replaced. */
  readonly cell: number;
  readonly number: number;
}

export const sameEpoch = (a: Epoch, b: Epoch): boolean => a.cell === b.cell && a.number === b.number;
export const shownEpoch = ({ cell, number }: Epoch): string => `${cell}.${number}`;
export const isOlderEpoch = (a: Epoch, b: Epoch): boolean =>
  a.cell < b.cell || (a.cell === b.cell && a.number < b.number);

/** /a/node/NAME. Totals and exclusive claims, never a list of owners: it stays small however many run there. */
export interface NodeAccount {
  /** The detector's alone: register opens it, Suspect or worse closes it, Fresh reopens it. */
  readonly gate: { readonly state: 'Open' | 'Closed'; readonly reason?: string; readonly since: string };
  readonly allocatable: Amount;
  /** The ids of its devices, by class. */
  readonly devices: Readonly<Record<string, readonly string[]>>;
  readonly used: Amount;
  /** Who owns what can have one owner only: uid of a replica or reservation by device id and by port number (S1). */
  readonly claims: {
    readonly devices: Readonly<Record<string, string>>;
    readonly ports: Readonly<Record<string, string>>;
  };
  /**
   * How many charged replicas of each WorkloadRevision are here, by `TENANT/REVISION`. A revision never
   * changes, so this says which labels are here and which rules of keeping apart, without naming replicas.
   */
  readonly revisions: Readonly<Record<string, number>>;
  /**
   * The node's epoch while it is open, so that who guards the account guards it too; whatever changes it there changes
   * it here. Left out where it was closed, or is not known: then /e/NODE is asked.
   */
  readonly epoch?: Epoch;
}

/** /a/tenant/NAME */
export interface TenantAccount {
  /** What this cell may commit for the tenant. Absent: nothing yet. A resource not named in `most` is not limited. */
  readonly grant?: {
    readonly most: Amount;
    readonly epoch: Epoch;
    /** Whole: the cell is its own global plane and granted the whole limit. */
    readonly source: 'Whole' | 'Part';
    readonly isExpired?: boolean;
  };
  readonly used: Amount;
  /** The part of `used` that was charged as Borrowed. */
  readonly borrowed: Amount;
  /** Charged by lost replicas that were replaced; outside the limit. */
  readonly lost: Amount;
}

/** /a/workload/TENANT/NAME */
export interface WorkloadAccount {
  /** How many charged replicas there are by `region` and by `region/zone`. */
  readonly regions: Readonly<Record<string, number>>;
  readonly zones: Readonly<Record<string, number>>;
  /** How many slots a voluntary cause has disrupted and no incarnation that serves has taken since. */
  readonly disrupted: number;
}

/** /e/NODE: a key of its own, so that reports do not contend with binds. */
export interface NodeEpoch {
  readonly epoch: Epoch;
  /** Closed: a fence has expired under it, or a person attests its end; whoever still has it must register again. */
  readonly state: 'Open' | 'Closed';
  /** The registration that made it. */
  readonly operation: string;
  /** The journal that its agent has named; an agent that names none begins another with each registration. */
  readonly journal?: string;
  /**
   * The first epoch of that journal, without another one since. [S5] What was bound before it the agent can know nothing
   * of: another machine, or another directory, may have started it. Left out in records of versions before this.
   */
  readonly journalSince?: Epoch;
  /** A person's word that what ran under this epoch has stopped. */
  readonly attestation?: {
    readonly by: string;
    readonly reason: string;
    readonly at: string;
    readonly forSeconds: number;
    readonly operation: string;
  };
  /** The attestation that was withdrawn or has expired last: a copy of it that arrives late is known, and attests nothing. */
  readonly lastAttestation?: string;
}

/** The holder of a lease that was released: anybody may take it at once. */
export const nobody = '';

/** The end of a term of a lease. */
export interface LeaseEnd {
  readonly holder: string;
  readonly epoch: Epoch;
  /** The holder itself, which released the lease, or the next holder, which passed this one over. */
  readonly endedBy: string;
  readonly endedAt: string;
  readonly reason: string;
}

/** /l/NAME */
export interface LeaseRecord {
  /** `nobody`: it was released. */
  readonly holder: string;
  readonly epoch: Epoch;
  /** How long it lasts without a renewal, on the clock of whoever watches it. */
  readonly durationSeconds: number;
  readonly address?: string;
  readonly acquiredAt: string;
  readonly renewedAt: string;
  /** Grows with each renewal, so that a renewal is always a change. */
  readonly renewals: number;
  /** The operation that took it. */
  readonly operation: string;
  /**
   * The term that ended last: of this epoch if the lease was released, of the one before if it is held. Left out in the
   * first term, and in records of versions before this.
   */
  readonly lastTerm?: LeaseEnd;
}

/** /t/TENANT/WORKLOAD/SLOT: written by incarnate, evict (disrupted), report (disrupted no more) and forget. */
export interface SlotRecord {
  readonly incarnation: number;
  readonly replica: string;
  readonly replicaUid: string;
  readonly operation: string;
  /** A lost replica that was replaced and has not ended. At most one (S12). */
  readonly lost?: { readonly replica: string; readonly replicaUid: string };
  /** A voluntary cause ended the last ready incarnation. */
  readonly isDisrupted?: boolean;
  /**
   * How many replicas of the slot there are, ended ones too; one if left out. The record goes only with the last of
   * them, so that without a record there is none, and numbers and names begin anew without meeting an old one.
   */
  readonly kept?: number;
}

/** D, G, κ and W of the cell, which come with each acknowledged renewal. */
export type FenceRecord = { readonly [K in keyof typeof fenceContract]: number };

/** /m/fence; the values a cell starts with where there is none. */
export interface StoredFence extends FenceRecord {
  /** What W is to be once nothing can run any more that was permitted under the values before these. */
  readonly windowSecondsNext?: number;
  /** The operation that set it. */
  readonly operation: string;
}

// Every bind names some fifteen keys, most of them of the same nodes and tenants as the last: to write them out each time
// would cost more than to look them up afterwards.
export const nodeAccountKey = madeOnce((node) => `/a/node/${node}`);
export const tenantAccountKey = madeOnce((tenant) => `/a/tenant/${tenant}`);
// Of so many tenants, and so many workloads of each.
const [tenantsMax, workloadsMax] = [2_000, 100];
const workloadAccountKeys = madeOnce(
  (tenant) => madeOnce((workload) => `/a/workload/${tenant}/${workload}`, workloadsMax),
  tenantsMax,
);
export const workloadAccountKey = (tenant: string, workload: string): string =>
  workloadAccountKeys(tenant)(workload);
export const nodeEpochKey = madeOnce((node) => `/e/${node}`);
export const fenceKey = '/m/fence';
/** The newest epoch that a node had which is gone: the next new node gets a later one. */
export const pastEpochKey = '/m/past-node-epoch';
export const leaseKey = madeOnce((name) => `/l/${name}`);
export const nodeLeaseName = (node: string): string => `node-${node}`;
/** The node whose lease this is; undefined for that of a leader. */
export const nodeOfLease = (lease: string): string | undefined =>
  lease.startsWith('node-') ? lease.slice('node-'.length) : undefined;
const slotPrefixes = madeOnce(
  (tenant) => madeOnce((workload) => `/t/${tenant}/${workload}/`, workloadsMax),
  tenantsMax,
);
export const slotKey = sameAgain((tenant, workload, slot) => slotPrefixes(tenant)(workload) + slot);

/** The two keys of an object: metadata and spec under /o, status under /s. */
const keysUnder = (part: 'o' | 's') =>
  madeOnce((kind) => {
    const prefixes = madeOnce((namespace) => `/${part}/${kind}/${namespace}/`, tenantsMax);
    return sameAgain((namespace, name) => prefixes(namespace) + name);
  });
const [objectKeys, statusKeys] = [keysUnder('o'), keysUnder('s')];
export const objectKey = (kind: string, namespace: string | undefined, name: string): string =>
  objectKeys(kind)(namespace ?? '_', name, '');
export const statusKey = (kind: string, namespace: string | undefined, name: string): string =>
  statusKeys(kind)(namespace ?? '_', name, '');

export const emptyTenantAccount: TenantAccount = { used: {}, borrowed: {}, lost: {} };
export const emptyWorkloadAccount: WorkloadAccount = { regions: {}, zones: {}, disrupted: 0 };

/** A node with this label set to "true" takes only work whose priority class may use recovery pools (S9). */
export const recoveryPoolLabel = 'berth.dev/recovery-pool';

const isNumber = /^\d+$/;

/**
 * How the names of a slot's replicas begin. A node's name may hold what the end of a workload's name holds, so that it
 * stands behind a dot, which a workload's name never has: `log.hollow-1-1` is of Daemon `log` on node `hollow-1`,
 * `log-hollow-1-1` of slot 1 of Service `log-hollow`. No two slots of a tenant have a name in common.
 */
export const replicaNamePrefix = (workload: string, slot: string): string =>
  `${workload}${isNumber.test(slot) ? '-' : '.'}${slot}-`;

export const replicaName = (workload: string, slot: string, incarnation: number): string =>
  replicaNamePrefix(workload, slot) + incarnation;
