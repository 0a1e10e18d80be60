/** What a node has measured of a replica, as its renewals carry it. */
export interface UsageSample {
  readonly uid: string;
  /** How often it was started again on this node. */
  readonly restarts: number;
  /** How often something of it was ended on this node for want of memory. */
  readonly oomKills: number;
  /** Of the present execution; absent while nothing runs, or nothing was measured yet. */
  readonly running?: {
    /** When that was, on the node's own clock: only differences mean something. */
    readonly measuredMs: number;
    /** So far. */
    readonly cpuSeconds: number;
    readonly memoryBytes: number;
  };
}

/** A renewal carries so many at most; a node with more replicas tells of them in turn. */
export const usageSamplesMax = 100;

/** What is known of the use of a replica. */
export interface KnownUsage {
  readonly namespace: string;
  readonly name: string;
  readonly workload: string;
  readonly node: string;
  readonly restarts: number;
  readonly oomKills: number;
  readonly cpuSeconds?: number;
  readonly memoryBytes?: number;
  /** How many cores it used between the last two measurements, if both were of one execution. */
  readonly cpuCores?: number;
  /** Since its node told it. */
  readonly ageSeconds: number;
}

export interface UsagePage {
  readonly items: readonly KnownUsage[];
  /** So many more are known and left out. */
  readonly more: number;
  /** Servers that did not say what the nodes connected to them have told. */
  readonly unanswered: readonly { readonly server: string; readonly message: string }[];
}

export const usageItemsMax = 10_000;

/** Use of replicas, in memory where their nodes are connected, and nowhere else. */
export interface Usage {
  /** Of one tenant, or of all. */
  list(tenant: string | undefined): Promise<UsagePage>;
}

/** Where it is read, and how a server is asked for what it knows itself, so that servers do not ask in circles. */
export const usagePath = '/usage';
export const knownHereParameter = 'knownHere';
