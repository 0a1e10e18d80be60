import type { Outcome, Register, Registered, ReplicaRef, Report } from './ports.js';
import type { Epoch, FenceRecord } from './records.js';
import type { SessionRequest } from './sessions.js';
import type { Stage } from './stages.js';
import type { ReplicaStatus } from './kinds/replica.js';
import type { WorkloadSpec } from './parts/workload-spec.js';
import type { Charge } from './parts/charge.js';
import type { Template } from './parts/template.js';
import type { UsageSample } from './usage.js';

/** A replica that is bound to a node and has not ended, as the node's agent is told of it. */
export interface NodeBinding {
  readonly replica: ReplicaRef;
  readonly workload: string;
  readonly slot: string;
  readonly revision: string;
  readonly fence: string;
  readonly type: NonNullable<WorkloadSpec['type']>;
  /** It may run only as long as an acknowledged renewal permits (DESIGN §8). */
  readonly isFenced: boolean;
  /** The epoch since which its node can know of it. Left out by servers of versions before this. */
  readonly knownSince?: Epoch;
  readonly stage: Stage;
  /** That it shall stop. Stays while its node is lost. */
  readonly intent?: Pick<NonNullable<ReplicaStatus['intent']>, 'reason' | 'graceSeconds'>;
  /** What its agent has said of it beside its stage, where that is worth a word: see `ReplicaStatus`. */
  readonly said?: Pick<ReplicaStatus, 'step' | 'message' | 'readiness'>;
  /** The resourceVersion this was true at; a later one is larger. */
  readonly version: number;
  readonly devices?: Charge['devices'];
  readonly ports?: Charge['ports'];
  /** What it runs. Left out while the stream has told another of its revision that is not gone; absent if the revision is gone. */
  readonly template?: Template;
}

/** A report as the stream carries it: node and epoch are the stream's. */
export type StreamReport = Omit<Report, 'node' | 'nodeEpoch'>;

/** What a node says. Ids are its own, and come back with the answer. */
export type NodeSays =
  /** What replicas use may go along: it is kept in memory, and never written for itself. */
  | { readonly kind: 'renew'; readonly id: number; readonly usage?: readonly UsageSample[] }
  | { readonly kind: 'report'; readonly id: number; readonly report: StreamReport };

/** What a node hears. */
export type NodeHears =
  /**
   * What is bound here, or changed; `gone`: uids. The whole set comes in parts: what is told, and not gone again, from one
   * that begins it to one that ends it is all, and what is not among it then is not to run. One that begins it starts anew.
   */
  | {
      readonly kind: 'bindings';
      readonly begins?: true;
      readonly ends?: true;
      readonly bindings: readonly NodeBinding[];
      readonly gone: readonly string[];
    }
  /** The renewal is committed. Opening counts as one. */
  | {
      readonly kind: 'renewed';
      readonly id: number;
      readonly fence: FenceRecord;
      /** How long to wait before the next: grows with the fleet, so that the write load stays bounded. */
      readonly renewSeconds: number;
    }
  /** What became of a report. */
  | { readonly kind: 'reported'; readonly id: number; readonly outcome: Outcome<{ readonly stage: Stage }> }
  /** Somebody wants to read or do something with a replica here: the agent answers on a connection of its own, under this id. */
  | { readonly kind: 'attach'; readonly id: string; readonly request: SessionRequest }
  /** The epoch is over: register again. Nothing follows. */
  | { readonly kind: 'stale'; readonly message: string }
  /** The stream is cut: open another. Nothing follows. */
  | { readonly kind: 'closed'; readonly message: string };

/** Where a node hears. */
export interface NodeEars {
  /** Never called from within `open` or `say`. */
  hear(message: NodeHears): void;
  /**
   * Whether bindings may be sent now. While not, nothing is kept for the node: it gets the whole set after `resume`.
   * Answers to what it said are sent always; how many there can be is bounded.
   */
  hasRoom(): boolean;
}

/** One node's end of its stream. */
export interface NodeLine {
  say(message: NodeSays): void;
  /** There is room again. */
  resume(): void;
  /** Nothing is heard any more. */
  close(): void;
}

/** How a node opens its stream: the first renewal under its epoch; bindings follow once that is committed. */
export interface NodeHello {
  readonly node: string;
  readonly epoch: Epoch;
  /** Of the renewal that opening is. */
  readonly id: number;
}

/**
 * The node protocol (DESIGN §8): one two-way stream per node, renewals and reports up, bindings down. A node has one
 * line at a time; a new one ends the last. Agents never watch replicas.
 */
export interface NodeStreams {
  register(input: Register): Promise<Outcome<Registered>>;
  open(hello: NodeHello, ears: NodeEars): NodeLine;
}
