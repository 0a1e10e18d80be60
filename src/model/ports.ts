import type { Amounts } from './parts/amounts.js';
import type { BerthObject } from './object.js';
import type { Reason } from './reasons.js';
import type { Epoch, FenceRecord } from './records.js';
import type { RemarkType } from './remarks.js';
import type { Stage, StageActor } from './stages.js';
import type { EndpointsStatus } from './kinds/endpoints.js';
import type { NodeSpec, NodeStatus } from './kinds/node.js';
import type { Replica, ReplicaStatus } from './kinds/replica.js';

/**
 * The interfaces that in-process, HTTP and simulated parts share; main (or the simulator) injects them.
 */

// ---- the authority ---------------------------------------------------------------------------------------

/**
 * What became of an operation (DESIGN §5), the same for all. Every answer was true at `revision`, a
 * resourceVersion: also a rejection is checked against the store as it is, never only against a cache.
 */
export type Outcome<T> =
  | { readonly kind: 'Committed'; readonly result: T; readonly revision: string }
  /** The same operation was committed before; this is its first result. */
  | { readonly kind: 'AlreadyCommitted'; readonly result: T; readonly revision: string }
  | {
      readonly kind: 'Rejected';
      readonly reason: Reason;
      readonly message: string;
      readonly revision: string;
    }
  /** It may have happened or may still happen. Send the same operation again under the same id, or read back. */
  | { readonly kind: 'UnknownOutcome'; readonly message: string };

/** Who acts. An actor that acts under a lease names it and its epoch; the transaction guards on both (S8). */
export interface Actor {
  readonly kind: StageActor | 'detector' | 'grant-controller' | 'operator';
  readonly name: string;
  readonly lease?: { readonly name: string; readonly epoch: Epoch };
}

export interface ReplicaRef {
  readonly tenant: string;
  readonly name: string;
  readonly uid: string;
}

/** Stable: whoever tries again says the same. */
export interface Operation {
  readonly operation: string;
}

export interface TakeLease extends Operation {
  readonly name: string;
  readonly holder: string;
  readonly durationSeconds: number;
  readonly address?: string;
  /**
   * The proof that the last holder may be passed over: nobody has changed the lease since this revision of
   * its key, and the taker has waited its duration out on its own clock. Left out: only a lease that was never
   * held or was given up can be taken. `Alone`: the taker knows that no other process can reach the store.
   */
  readonly unchangedSince?: number | 'Alone';
}

export interface RenewLease {
  readonly name: string;
  readonly holder: string;
  readonly epoch: Epoch;
}

export interface ResignLease extends RenewLease {
  /** Why the holder gives the lease up, in one word. */
  readonly reason: string;
}

/** A renewal that is committed. What it permits is what the fence of the cell said in the same transaction. */
export interface Renewed {
  readonly epoch: Epoch;
  readonly leaseRevision: number;
  readonly fence: FenceRecord;
}

export interface Register extends Operation {
  readonly node: string;
  readonly region?: string;
  readonly zone?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Like region, zone and labels only for a node that is not there yet: afterwards they are the operator's. */
  readonly taints?: NonNullable<NodeSpec['taints']>;
  readonly capacity: Amounts;
  readonly allocatable: Amounts;
  readonly devices?: Readonly<Record<string, readonly string[]>>;
  readonly agent: NonNullable<NodeStatus['agent']>;
  readonly leaseSeconds: number;
  /** The id of what the agent keeps of its work: another one if anything of it was lost. */
  readonly journal?: string;
}

export interface Registered {
  readonly epoch: Epoch;
  /** The first epoch under the journal that was named: see `NodeEpoch`. */
  readonly journalSince?: Epoch;
}

export interface Incarnate extends Operation {
  readonly actor: Actor;
  readonly tenant: string;
  readonly workload: string;
  readonly workloadUid: string;
  readonly slot: string;
  /** The incarnation to make: one above the slot's last. */
  readonly incarnation: number;
  readonly revision: string;
  readonly gang?: string;
  /** Admitted: the scheduler must not look yet. */
  readonly stage: 'Admitted' | 'Queued';
  readonly reason: string;
  readonly evidence?: Readonly<Record<string, string>>;
}

/** What a scheduler proposes for one replica. */
export interface Proposal extends Operation {
  readonly actor: Actor;
  readonly replica: ReplicaRef;
  readonly node: string;
  readonly nodeEpoch: Epoch;
  /** The resourceVersion of the snapshot it was decided on. */
  readonly snapshotRevision: string;
  readonly policyRevision: string;
  readonly decision?: string;
  /** Devices by class, if the scheduler picked them; the authority picks free ones otherwise. */
  readonly devices?: Readonly<Record<string, readonly string[]>>;
}

export interface Reserve extends Proposal {
  readonly intent: 'Bind' | 'Gang' | 'Preemption' | 'Recovery';
  readonly deadlineSeconds: number;
  /** Replicas on that node that are released to make room. */
  readonly victims?: readonly ReplicaRef[];
}

export interface Report extends Operation {
  readonly node: string;
  readonly nodeEpoch: Epoch;
  readonly replica: ReplicaRef;
  readonly fence: string;
  /** The stage it is at; the one it is at already to report only what follows. */
  readonly stage: Stage;
  readonly reason: string;
  /**
   * The agent's journal has it: it was started here, or refused. [S5] Without that, nothing is over that was bound before the
   * journal began.
   */
  readonly isKnown?: true;
  readonly exitCode?: number;
  readonly driverId?: string;
  readonly step?: string;
  readonly address?: string;
  readonly executions?: number;
  readonly readiness?: NonNullable<ReplicaStatus['readiness']>;
  /** FenceOverrun: it was fenced, and ended so much later than it was permitted to run, or runs still. */
  readonly overrunSeconds?: number;
  readonly message?: string;
  readonly evidence?: Readonly<Record<string, string>>;
}

export interface Evict extends Operation {
  readonly actor: Actor;
  readonly replica: ReplicaRef;
  readonly reason: string;
  readonly message?: string;
  readonly graceSeconds?: number;
  /** What the decision was made from. */
  readonly evidence?: Readonly<Record<string, string>>;
}

export interface Move extends Operation {
  readonly actor: Actor;
  readonly replica: ReplicaRef;
  /** Moves from there and from nowhere else. */
  readonly from: Stage;
  readonly to: Stage;
  readonly reason: string;
  readonly message?: string;
  readonly evidence?: Readonly<Record<string, string>>;
}

/** Why a replica that was Releasing or Unknown is known to have ended although its agent did not say so. */
export type ReleaseProof =
  /**
   * Its node's lease stood unchanged at this revision of its key for so long, on the monotonic clock of one leader who
   * watched it: the authority compares that with the fence window.
   */
  | { readonly kind: 'FenceExpired'; readonly leaseRevision: number; readonly stoodSeconds: number }
  /**
   * It was bound before this journal of its node began, and its agent has not said that it knows it: one leader has seen that
   * for so long. Whatever still ran it was renewed for the last time before the journal began.
   */
  | { readonly kind: 'JournalExpired'; readonly journalSince: Epoch; readonly stoodSeconds: number }
  /** A person attested that what ran under the node's epoch has stopped. */
  | { readonly kind: 'Attested' }
  /** Nothing ever ran: it was never bound. */
  | { readonly kind: 'NeverBound' };

export interface Release extends Operation {
  readonly actor: Actor;
  readonly replica: ReplicaRef;
  readonly proof: ReleaseProof;
  readonly reason: string;
}

export interface ReleaseHold extends Operation {
  readonly actor: Actor;
  readonly tenant: string;
  readonly reservation: string;
  readonly uid: string;
  /** Expired: its deadline passed. Released: it is not needed any more. */
  readonly as: 'Released' | 'Expired';
  readonly reason: string;
}

export interface Gate extends Operation {
  readonly actor: Actor;
  readonly node: string;
  readonly nodeEpoch: Epoch;
  readonly reachability: NonNullable<NodeStatus['reachability']>;
  readonly reason: string;
  /** What the verdict was made from. */
  readonly evidence?: Omit<NonNullable<NodeStatus['evidence']>, 'since'>;
}

/** The Endpoints of a workload as they are from now on. */
export interface Publish {
  readonly actor: Actor;
  readonly tenant: string;
  readonly workload: string;
  readonly workloadUid: string;
  /** The resourceVersion of the Endpoints that these were made from; left out: there were none. */
  readonly seen?: string;
  readonly endpoints: Omit<EndpointsStatus, 'conditions'>;
  /** Replicas that are listed no more, so that they may be asked to stop. */
  readonly leaving: readonly ReplicaRef[];
}

/** A replica that shall stop is not among the endpoints any more: it may be asked to. */
export interface Withdraw {
  readonly actor: Actor;
  readonly replica: ReplicaRef;
  readonly workload: string;
  /** The resourceVersion of the Endpoints that do not name it. */
  readonly seen: string;
}

export interface Grant extends Operation {
  readonly actor: Actor;
  readonly tenant: string;
}

export interface Attest extends Operation {
  readonly actor: Actor;
  readonly node: string;
  readonly nodeEpoch: Epoch;
  readonly reason: string;
  readonly forSeconds: number;
  /** Withdraws it, or puts its expiry into effect. */
  readonly isOver?: boolean;
  /** The operation that gave the word which is over; whatever stands, if it is left out. */
  readonly given?: string;
}

/** Changes the fence of the cell: W is raised at once, and lowered only after D was. */
export interface SetFence extends Operation {
  readonly actor: Actor;
  readonly fence: FenceRecord;
}

/** Lowers W to what was asked for: so long nothing was permitted but under the values that stand. */
export interface SettleFence {
  readonly actor: Actor;
  /** The operation that asked for it. */
  readonly operation: string;
  /** How long the one who watched has seen it stand, on its monotonic clock. */
  readonly stoodSeconds: number;
}

export interface Remarked {
  readonly type: RemarkType;
  readonly reason: string;
  readonly message: string;
}

/** What repair has to tell people of a replica, a node or a region, as conditions. */
export interface Remark {
  readonly actor: Actor;
  readonly about:
    | { readonly kind: 'Replica'; readonly replica: ReplicaRef; readonly stage: Stage }
    | { readonly kind: 'Node'; readonly node: string }
    | { readonly kind: 'Region'; readonly region: string };
  readonly set: readonly Remarked[];
  readonly clear: readonly RemarkType[];
}

export interface MoveGang extends Operation {
  readonly actor: Actor;
  readonly tenant: string;
  readonly gang: string;
  readonly uid: string;
  /** Reserving: members may hold. Committed: enough do. Released: it gives up. Waiting: it may try again. */
  readonly to: 'Waiting' | 'Reserving' | 'Committed' | 'Released';
}

/** Why a replica that waits was not placed. */
export interface Postpone {
  readonly actor: Actor;
  readonly replica: ReplicaRef;
  readonly reason: Reason;
  readonly message: string;
  /** The Decision that says more. */
  readonly decision?: string;
}

export interface Forget extends Operation {
  readonly actor: Actor;
  readonly replica: ReplicaRef;
  /** The slot is not wanted any more: its record goes too. */
  readonly dropSlot: boolean;
}

/** A node that is being deleted, and that nothing is charged to any more. */
export interface RemoveNode extends Operation {
  readonly actor: Actor;
  readonly node: string;
  readonly uid: string;
}

/** The one that makes things official (DESIGN §5). Each call is one operation in one transaction. */
export interface Authority {
  takeLease(input: TakeLease): Promise<Outcome<{ readonly epoch: Epoch }>>;
  renew(input: RenewLease): Promise<Outcome<Renewed>>;
  /** Gives a lease up, so that the next holder need not wait. The authority commits nothing more under its epoch. */
  resign(input: ResignLease): Promise<Outcome<undefined>>;
  register(input: Register): Promise<Outcome<Registered>>;
  incarnate(input: Incarnate): Promise<Outcome<{ readonly replica: Replica }>>;
  reserve(input: Reserve): Promise<Outcome<{ readonly reservation: string; readonly uid: string }>>;
  bind(proposals: readonly Proposal[]): Promise<readonly Outcome<{ readonly fence: string }>[]>;
  postpone(input: Postpone): Promise<Outcome<undefined>>;
  report(input: Report): Promise<Outcome<{ readonly stage: Stage }>>;
  evict(input: Evict): Promise<Outcome<{ readonly stage: Stage }>>;
  move(input: Move): Promise<Outcome<{ readonly stage: Stage }>>;
  release(input: Release): Promise<Outcome<{ readonly stage: Stage }>>;
  releaseHold(input: ReleaseHold): Promise<Outcome<undefined>>;
  publish(input: Publish): Promise<Outcome<undefined>>;
  withdraw(input: Withdraw): Promise<Outcome<undefined>>;
  gate(input: Gate): Promise<Outcome<undefined>>;
  /** Grants this cell the whole limit of a tenant, as the tenant's spec is at that revision. */
  grant(input: Grant): Promise<Outcome<undefined>>;
  attest(input: Attest): Promise<Outcome<undefined>>;
  setFence(input: SetFence): Promise<Outcome<undefined>>;
  settleFence(input: SettleFence): Promise<Outcome<undefined>>;
  remark(input: Remark): Promise<Outcome<undefined>>;
  moveGang(input: MoveGang): Promise<Outcome<undefined>>;
  /** Deletes a replica that has ended. */
  forget(input: Forget): Promise<Outcome<undefined>>;
  removeNode(input: RemoveNode): Promise<Outcome<undefined>>;
}

// ---- objects, as controllers see them --------------------------------------------------------------------

/** Objects may be put together only when somebody looks at them: look at the kind first. */
export interface ObjectChange {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly kind: string;
  /** Of the object after it: known without looking at it. */
  readonly version: number;
  readonly object: BerthObject;
  readonly before: BerthObject | undefined;
}

/**
 * Objects as controllers see them: reads come from a cache and may be old, writes are guarded on the version
 * they were decided on. Errors are BerthErrors; an UnknownOutcome may have happened.
 */
export interface Objects {
  get<T extends BerthObject>(kind: string, namespace: string | undefined, name: string): T | undefined;
  list<T extends BerthObject>(kind: string, namespace?: string): Iterable<T>;
  create<T extends BerthObject>(kind: string, namespace: string | undefined, draft: object): Promise<T>;
  /** Changes spec and metadata, or status, by a function of what is there; undefined leaves it as it is. */
  modify<T extends BerthObject>(
    kind: string,
    namespace: string | undefined,
    name: string,
    part: 'spec' | 'status',
    change: (live: T) => T | undefined,
  ): Promise<T>;
  /** Deletes it if it is still the one with this uid. */
  delete(kind: string, namespace: string | undefined, name: string, uid: string): Promise<void>;
  /**
   * Calls back for every change after the call, in order, until the signal aborts. `onGap` is called when
   * changes may have been missed: list again. A callback must not throw. Of other kinds than those given nothing need be
   * told.
   */
  follow(
    onChange: (change: ObjectChange) => void,
    onGap: () => void,
    signal: AbortSignal,
    kinds?: ReadonlySet<string>,
  ): void;
  /** The resourceVersion the cache shows. */
  readonly version: string;
}

// ---- records, as the scheduler follows them --------------------------------------------------------------

/**
 * The stored records themselves, by key: accounts as they are added up, objects as their two parts. For those who
 * keep a picture of the whole cell and cannot afford an object put together for every change.
 */
export interface Records {
  /** What stands under a key. Must not be changed. */
  read(key: string): unknown;
  /** What stands under the keys that begin with this, in no order. */
  entries(prefix: string): Iterable<readonly [key: string, value: unknown]>;
  /**
   * Calls back for every change after the call, in the order of the revisions, all keys of one revision together,
   * until the signal aborts: undefined for a key that is gone. Called while the change is taken in: be quick, never
   * throw. Nothing is skipped: after a cut the difference is told like any other change.
   */
  follow(onChange: (key: string, value: unknown) => void, signal: AbortSignal): void;
  /** The resourceVersion that is shown. */
  readonly version: string;
}

// ---- leading ---------------------------------------------------------------------------------------------

/** A time of being the one: under this epoch, until the signal aborts. */
export interface LeadingTerm {
  readonly epoch: Epoch;
  readonly signal: AbortSignal;
  /** The holder has reason to believe that another has taken over. */
  giveUp(why: string): void;
}

/** Who may act under a lease: calls back for each term, one at a time, until the signal aborts. */
export interface Leading {
  run(lead: (term: LeadingTerm) => Promise<void>, signal: AbortSignal): Promise<void>;
}
