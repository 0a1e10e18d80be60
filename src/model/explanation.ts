import type { Attention } from './attention.js';
import type { Trace } from './trace.js';
import type { Boundary } from './kinds/workload.js';
import type { Amounts } from './parts/amounts.js';
import type { Stage } from './stages.js';

/** The kinds of which one can ask why. */
export const explainedKinds = ['Workload', 'Replica', 'Gang', 'Node'] as const;
export type ExplainedKind = (typeof explainedKinds)[number];

export interface ExplainTarget {
  readonly kind: ExplainedKind;
  /** Absent for nodes. */
  readonly tenant?: string;
  readonly name: string;
}

/** Answers "why", for a workload, replica, gang or node, from objects, decisions and the rules of the scheduler. */
export interface Explain {
  /** `onlyTenant`: whoever asks may see the decisions of this tenant alone. */
  why(target: ExplainTarget, onlyTenant: string | undefined): Promise<Explanation>;
  /** What each filter says of a node for the target: a workload, replica or gang. */
  whyNot(target: ExplainTarget, node: string): Promise<NodeVerdicts>;
  /** What happened to a target, in order. */
  trace(target: ExplainTarget, onlyTenant: string | undefined): Promise<Trace>;
  /** What needs attention now: everywhere, or of one tenant alone. */
  attention(onlyTenant: string | undefined): Attention;
}

export interface Explanation {
  readonly target: ExplainTarget;
  /** The answer, in one line for people. */
  readonly answer: string;
  /**
   * AsWanted: nothing is missing. OnItsWay: somebody's move is next. CannotBePlaced: no node may take it as things are.
   * Failed: it will not come without a change. Unknown: nobody knows whether it runs. Ended: it is over.
   */
  readonly state: 'AsWanted' | 'OnItsWay' | 'CannotBePlaced' | 'Failed' | 'Unknown' | 'Ended';
  /** How many replicas are at each stage; one, for a replica. */
  readonly stages: Readonly<Partial<Record<Stage, number>>>;
  readonly node?: string;
  readonly limitedBy?: Boundary;
  readonly reason?: string;
  readonly message?: string;
  /** Since when, for people to read. */
  readonly since?: string;
  readonly operation?: string;
  readonly nextMove?: string;
  /** Until when that move is waited for, for people to read. */
  readonly deadline?: string;
  /** What else is worth knowing, a line each. */
  readonly notes: readonly string[];
  /** What the rules of the scheduler say of the cell as it is now; absent if there is nothing to be placed. */
  readonly placement?: PlacementFacts;
  /** The last decisions, newest first. */
  readonly decisions: readonly DecisionDigest[];
  /** Servers whose decisions are missing. */
  readonly unanswered: readonly { readonly server: string; readonly message: string }[];
}

export interface PlacementFacts {
  /** The replica that this is about. */
  readonly replica: string;
  /** The resourceVersion at which the cell was looked at. */
  readonly revision: string;
  /** Whether it could be placed now: a node would take it and its tenant may be charged; of a gang, whether enough could. */
  readonly isPlaceable: boolean;
  /** Of a gang that has not started: how many members find places at once, of those it still takes. */
  readonly together?: { readonly places: number; readonly wanted: number };
  /** Why its tenant may not be charged with it; absent if it may. */
  readonly quota?: { readonly reason: string; readonly message: string };
  /** How many nodes were asked. */
  readonly nodes: number;
  /** Nodes that nothing speaks against, quota aside: how many, and some of them. */
  readonly fits: { readonly count: number; readonly nodes: readonly string[] };
  /**
   * Where the scheduler would make room for it although no node takes it now, and how many would have to leave for it.
   * Of a gang: the first of so many nodes.
   */
  readonly room?: { readonly node: string; readonly nodes?: number; readonly evictions: number };
  /** For each reason how many nodes it rules out, and some of them. A node may have several reasons. */
  readonly rejections: readonly {
    readonly reason: string;
    readonly count: number;
    readonly nodes: readonly string[];
    readonly message: string;
  }[];
  /** Changes of a single object, each of which would let it run. */
  readonly cures: readonly Cure[];
}

/** A change of one object, as small as it can be, that would let a replica run. */
export interface Cure {
  /** For people. */
  readonly words: string;
  readonly kind: 'Tenant' | 'Node' | 'Workload' | 'PriorityClass';
  readonly namespace?: string;
  readonly name: string;
  /**
   * Patch: a merge patch of the object. Register: what the agent of that node would have to offer, by more capacity or
   * by less use. Create: a node that is not there yet.
   */
  readonly change:
    | { readonly type: 'Patch'; readonly patch: Readonly<Record<string, unknown>> }
    | {
        readonly type: 'Register';
        readonly allocatable: Amounts;
      }
    | {
        readonly type: 'Create';
        readonly region: string;
        readonly zone: string;
        readonly labels: Readonly<Record<string, string>>;
        readonly allocatable: Amounts;
      };
}

export interface DecisionDigest {
  readonly name: string;
  readonly namespace: string;
  readonly workload: string;
  readonly at: string;
  readonly result: string;
  /** Why some or all found no place. */
  readonly reason?: string;
  readonly snapshotRevision: string;
  readonly snapshotAgeMs: number;
  /** What the authority answered, and how often: `Committed`, `Rejected NodeFull`, `no answer`. */
  readonly answers: Readonly<Record<string, number>>;
  /** The nodes chosen, some of them. */
  readonly nodes: readonly string[];
}

export interface NodeVerdicts {
  readonly target: ExplainTarget;
  readonly node: string;
  /** The replica that this is about. */
  readonly replica: string;
  readonly answer: string;
  readonly passes: boolean;
  readonly verdicts: readonly {
    readonly filter: string;
    readonly passes: boolean;
    readonly reason?: string;
    readonly message?: string;
  }[];
}
