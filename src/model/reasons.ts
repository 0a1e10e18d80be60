import type { CallerMay } from './errors.js';

interface ReasonFacts {
  readonly meaning: string;
  readonly callerMay: CallerMay;
  /** What would make the same proposal succeed. */
  readonly cure: string;
}

/**
 * Why the authority rejected an operation (DESIGN §5), or the scheduler found no place for a replica (§6). The name is
 * what programs compare and parked work waits under.
 */
export const reasonTable = {
  NodeFull: {
    meaning: 'the amounts do not fit on the node as its account stands',
    callerMay: 'refresh',
    cure: 'another node, or something on this one is released',
  },
  DeviceTaken: {
    meaning: 'a device asked for is claimed by another',
    callerMay: 'refresh',
    cure: 'another device, or its owner is released',
  },
  PortTaken: {
    meaning: 'a port asked for is claimed by another on that node',
    callerMay: 'refresh',
    cure: 'another node, or its owner is released',
  },
  QuotaExceeded: {
    meaning: "the tenant's use would rise above its limit",
    callerMay: 'backoff',
    cure: 'the tenant releases something, or its limit is raised',
  },
  RegionNotAllowed: {
    meaning: "the node's region is not among those the workload allows",
    callerMay: 'refresh',
    cure: 'a node in an allowed region',
  },
  ZoneNotAllowed: {
    meaning: "the node's zone is not among those the workload allows",
    callerMay: 'refresh',
    cure: 'a node in an allowed zone',
  },
  ResidencyNotAllowed: {
    meaning: "the region's jurisdiction is not in the tenant's residency",
    callerMay: 'refresh',
    cure: 'a node in an allowed jurisdiction; only an operator changes residency',
  },
  TenancyNotAllowed: {
    meaning: 'the node is set apart for other tenants',
    callerMay: 'refresh',
    cure: 'a node that admits this tenant',
  },
  SelectorMismatch: {
    meaning: "the node's labels do not match the node selector",
    callerMay: 'refresh',
    cure: 'a node with those labels',
  },
  Tainted: {
    meaning: 'the node has a taint that is not tolerated, is unschedulable, or drains',
    callerMay: 'refresh',
    cure: 'another node, a toleration, or the taint is removed',
  },
  AntiAffinity: {
    meaning: 'a replica it must not be with is on the node, or in the zone for its own workload',
    callerMay: 'refresh',
    cure: 'another node or zone',
  },
  SpreadViolated: {
    meaning: 'the replicas of the workload would be spread less evenly than its rule demands',
    callerMay: 'refresh',
    cure: 'a node in a domain that has fewer of them',
  },
  FenceUnsound: {
    meaning: 'the fence window would not outlast what is permitted, or it was not waited for',
    callerMay: 'refresh',
    cure: 'a window that is long enough, and waiting for it',
  },
  FenceUnsupported: {
    meaning: 'the replica relies on its fence, and the node cannot keep one',
    callerMay: 'refresh',
    cure: 'a node whose agent says that it can fence',
  },
  GateClosed: {
    meaning: 'the last durable verdict on the node is Suspect or worse',
    callerMay: 'refresh',
    cure: 'another node, or the detector finds this one fresh again',
  },
  NodeStale: {
    meaning: 'the node was last heard of longer ago than the workload allows',
    callerMay: 'refresh',
    cure: 'the node is heard of again, or the workload says onStale: Bind',
  },
  AffinityUnmet: {
    meaning: 'no replica it must be together with is on the node, or in its zone or region',
    callerMay: 'refresh',
    cure: 'a replica that its selector finds is placed, or a node near one has room',
  },
  DriverMissing: {
    meaning:
      "the node's agent cannot run what the workload is (process or container), or runs no processes of its tenant",
    callerMay: 'refresh',
    cure: 'a node whose agent has that driver, and runs it for the tenant',
  },
  PluginRefused: {
    meaning: 'a custom filter of this scheduler refused the node',
    callerMay: 'refresh',
    cure: 'what that filter asks for',
  },
  NoNode: {
    meaning: 'there is no node to look at: none at all, or not the one that the slot is for',
    callerMay: 'refresh',
    cure: 'a node registers',
  },
  ReplicaChanged: {
    meaning: 'the replica is not the one proposed for: other uid, slot or stage',
    callerMay: 'refresh',
    cure: 'propose for the replica as it is now',
  },
  NodeChanged: {
    meaning:
      'the node is not as the operation took it to be: other epoch, a closed one, heard of since, or gone',
    callerMay: 'refresh',
    cure: 'propose for the node as it is now',
  },
  SlotTaken: {
    meaning:
      'the slot has an incarnation that must end first, another replacement is outstanding, or the name of the next one is taken',
    callerMay: 'refresh',
    cure: 'the previous replica becomes terminal',
  },
  AlreadyBound: {
    meaning: 'the replica has a binding; there is never a second one',
    callerMay: 'never',
    cure: 'none: a new placement is a new incarnation',
  },
  HoldGone: {
    meaning:
      'a hold that the proposal relies on was released, has expired, or is on what its node offers no more',
    callerMay: 'refresh',
    cure: 'reserve again',
  },
  PoolReserved: {
    meaning: 'the capacity is reserved for others, such as recovery',
    callerMay: 'refresh',
    cure: 'another node, or a priority class that may use the pool',
  },
  GrantExhausted: {
    meaning: "this cell's grant of the tenant's limit is used up or has expired",
    callerMay: 'backoff',
    cure: 'the global plane grants more, or the tenant releases something here',
  },
  DisruptionLimit: {
    meaning: 'the workload would have more replicas disrupted at once than it allows',
    callerMay: 'backoff',
    cure: 'replicas of it become ready again',
  },
  RankTooLow: {
    meaning: 'the preemptor does not rank strictly above every victim',
    callerMay: 'refresh',
    cure: 'other victims',
  },
  TooManyVictims: {
    meaning: 'more would have to leave for one hold than one transaction carries',
    callerMay: 'refresh',
    cure: 'fewer and larger victims, or another node',
  },
  NotTaken: {
    meaning: 'the operation as a whole was refused before it was decided, and nothing was done',
    callerMay: 'backoff',
    cure: 'what the message says, and another try',
  },
  StaleEpoch: {
    meaning: 'the actor wrote under an epoch that is no longer current',
    callerMay: 'never',
    cure: 'none under that epoch: the actor registers or is elected again',
  },
  NotOwner: {
    meaning: 'the actor does not own that move or record',
    callerMay: 'never',
    cure: 'none: it is for its owner to do',
  },
  NoSuchEdge: {
    meaning: 'the stage graph has no such edge from where the replica is now',
    callerMay: 'refresh',
    cure: 'look at the stage again',
  },
  GangIncomplete: {
    meaning: 'fewer members of the gang hold capacity than must start together',
    callerMay: 'backoff',
    cure: 'more members reserve, or all are released and try again',
  },
  GangCommitted: {
    meaning:
      'the gang of this hold is committed, its node takes its member and it awaits nobody: such a hold neither expires nor is given up',
    callerMay: 'never',
    cure: 'none: its members go forward',
  },
  EndpointsChanged: {
    meaning: 'the endpoints are not those that the new ones were made from',
    callerMay: 'refresh',
    cure: 'make them anew from what is there now',
  },
  Contended: {
    meaning: 'others kept changing what the operation relies on, more often than it retries',
    callerMay: 'backoff',
    cure: 'the same operation again, later, under the same id',
  },
} as const satisfies Record<string, ReasonFacts>;

export type Reason = keyof typeof reasonTable;

export const reasons = Object.keys(reasonTable) as readonly Reason[];
