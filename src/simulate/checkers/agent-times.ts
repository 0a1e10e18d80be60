import type { Replica, ReplicaStatus } from '../../model/kinds/replica.js';
import { fenceContract } from '../../model/fence-contract.js';
import { CellView } from './cell-view.js';
import type { CellState, Commit, SafetyChecker, Violation } from './checker.js';
import { Since } from './since.js';
import { actorOf, appendedTransitions, type ReplicaChange, replicaChanges } from './transitions.js';

const startSecondsUsual = 300;
// A supervisor looks at a job a few times in its grace; what it does about it then takes a moment.
const momentMs = 250;

/** A supervisor was asked to stop a run, or kills it. `machineMs`: by the clock that the supervisor has. */
export interface StopSeen {
  readonly uid: string;
  readonly machineMs: number;
}

/**
 * [S6] An agent and its supervisor keep the durations that they count themselves. A job that was asked to stop is killed when
 * its grace is over, neither earlier nor later, unless its fence ends it before. A replica fails for its start
 * deadline only after the whole deadline.
 */
export class AgentTimes implements SafetyChecker {
  readonly rule = 'S6';
  checked = 0;
  #revision = 0;
  readonly #since = new Since();
  readonly #asked = new Map<string, { readonly machineMs: number; readonly graceMs: number }>();

  onCommit(commit: Commit, state: CellState): readonly Violation[] {
    this.#revision = state.revision;
    const cell = new CellView(state);
    const messages: string[] = [];
    for (const change of replicaChanges(commit)) {
      const replica = cell.object('Replica', change.tenant, change.name);
      if (replica !== undefined) messages.push(...this.#wrong(cell, replica, change, commit.atMs));
      this.#since.note(change.key, startOf(change.after), commit.atMs);
    }
    return messages.map((message) => this.#violation(message));
  }

  whole(): readonly Violation[] {
    return [];
  }

  /** Asked again, a run gets its grace again. */
  noteStopAsked({ uid, machineMs }: StopSeen, graceMs: number): void {
    this.#asked.set(uid, { machineMs, graceMs });
  }

  /** Its run has ended, or its supervisor. */
  forget(uid: string): void {
    this.#asked.delete(uid);
  }

  /** A supervisor kills a run that its permit still allows, or that needs none. */
  noteKill({ uid, machineMs }: StopSeen): readonly Violation[] {
    const asked = this.#asked.get(uid);
    if (asked === undefined) return [];
    this.#asked.delete(uid);
    this.checked += 1;
    const lastedMs = machineMs - asked.machineMs;
    const isInTime = lastedMs >= asked.graceMs - 1 && lastedMs <= asked.graceMs + momentMs;
    const what = `${uid} was killed ${Math.round(lastedMs)} ms after it was asked to stop`;
    return isInTime ? [] : [this.#violation(`${what}; its grace is ${asked.graceMs} ms`)];
  }

  #wrong(cell: CellView, replica: Replica, change: ReplicaChange, atMs: number): readonly string[] {
    const { metadata, spec } = replica;
    return (appendedTransitions(change) ?? []).flatMap((transition) => {
      if (transition.reason !== 'StartDeadlinePassed' || actorOf(transition).kind !== 'agent') return [];
      this.checked += 1;
      const template = cell.object('WorkloadRevision', metadata.namespace, spec.revision)?.spec.template;
      const neededMs = (template?.startDeadlineSeconds ?? startSecondsUsual) * 1_000;
      const lastedMs = atMs - this.#since.ms(change.key, startOf(change.before) ?? '');
      // Two clocks of a machine, each as wrong as it may be.
      return lastedMs >= neededMs * (1 - 2 * fenceContract.driftMax)
        ? []
        : [
            `${change.key} failed for its start deadline after ${Math.round(lastedMs)} ms, not ${neededMs}: too early`,
          ];
    });
  }

  #violation(message: string): Violation {
    return { rule: this.rule, revision: this.#revision, message };
  }
}

/** Identifies one start of a replica on its node; undefined once the replica is ready or has ended. */
function startOf(status: ReplicaStatus | undefined): string | undefined {
  const { stage, transitions = [] } = status ?? {};
  if (stage !== 'Bound' && stage !== 'Starting') return undefined;
  const last = transitions.findLast(
    ({ to, from }) => to === 'Bound' || (to === 'Starting' && from !== 'Bound'),
  );
  return last?.operation ?? '';
}
