import { fenceContract } from '../../model/fence-contract.js';
import { type FenceRecord, fenceKey } from '../../model/records.js';
import type { CellState, Commit, SafetyChecker, Violation } from './checker.js';
import type { Execution } from './execution-witness.js';
import { actorOf, appendedTransitions, replicaChanges } from './transitions.js';

/** How long the last permit of a machine lasts, on the clock of that machine; negative: it is over. */
type LeftMs = () => number;

// A timer and the clock it waits for drift apart by a part of a millisecond.
const roundingMs = 1;
const proofs: readonly (string | undefined)[] = ['FenceExpired', 'JournalExpired'];

/**
 * [S5] The promise of DESIGN §8 itself. When a replica is released by expiry, the permit of the supervisor that may run it is
 * over on the clock of that supervisor, and nothing of the replica runs. A supervisor starts nothing fenced from s+D−G on,
 * and what it runs has ended by s+D+σ.
 */
export class ExpiredPermits implements SafetyChecker {
  readonly rule = 'S5';
  checked = 0;
  #revision = 0;
  #fence: FenceRecord = fenceContract;
  readonly #permits = new Map<string, LeftMs>();
  /** The machines that have a supervisor for each node, and the machine on which each replica was started last. */
  readonly #machines = new Map<string, Set<string>>();
  readonly #startedOn = new Map<string, string>();
  readonly #running = new Map<string, number>();

  onCommit(commit: Commit, state: CellState): readonly Violation[] {
    this.#revision = state.revision;
    // A parsed boundary: only the authority writes this record.
    this.#fence = (state.get(fenceKey) as FenceRecord | undefined) ?? fenceContract;
    const violations: Violation[] = [];
    for (const change of replicaChanges(commit))
      for (const transition of appendedTransitions(change) ?? []) {
        const { binding } = change.before ?? {};
        const uid = uidIn(state, change.key);
        if (transition.to !== 'Released' || actorOf(transition).kind !== 'repair-controller') continue;
        if (binding === undefined || uid === undefined) continue;
        const proof = transition.evidence?.['proof'];
        violations.push(...this.released(change.key, uid, proof, binding.node));
      }
    return violations;
  }

  whole(): readonly Violation[] {
    return [];
  }

  /** A machine has a supervisor for a node. */
  noteMachine(node: string, machine: string): void {
    const machines = this.#machines.get(node) ?? new Set();
    this.#machines.set(node, machines.add(machine));
  }

  /** A supervisor was given a permit. */
  notePermit(machine: string, leftMs: LeftMs): void {
    this.#permits.set(machine, leftMs);
  }

  /** An execution starts or has ended, on whichever machine. */
  noteExecution({ uid, running, fencedOn }: Execution): readonly Violation[] {
    this.#running.set(uid, (this.#running.get(uid) ?? 0) + (running ? 1 : -1));
    if (fencedOn === undefined) return [];
    this.checked += 1;
    return running ? this.#started(uid, fencedOn) : this.#ended(uid, fencedOn);
  }

  #started(uid: string, machine: string): readonly Violation[] {
    this.#startedOn.set(uid, machine);
    const leftMs = this.#permits.get(machine)?.() ?? Number.NEGATIVE_INFINITY;
    const graceMs = this.#fence.graceSeconds * 1_000;
    return leftMs > graceMs - roundingMs
      ? []
      : [
          this.#violation(
            `${machine} started ${uid} ${Math.round(leftMs)} ms before its permit ends, not ${graceMs}`,
          ),
        ];
  }

  #ended(uid: string, machine: string): readonly Violation[] {
    const lateMs = -(this.#permits.get(machine)?.() ?? 0);
    const { killMarginSeconds, stallSecondsMax, driftMax } = this.#fence;
    // The kill and the stall take their time on the clock of the world.
    const stallMs = ((killMarginSeconds + stallSecondsMax) * (1 + driftMax) - killMarginSeconds) * 1_000;
    const what = `${machine} ended ${uid} ${Math.round(lateMs)} ms after its permit was over`;
    return lateMs <= stallMs + roundingMs
      ? []
      : [this.#violation(`${what}, not within ${Math.round(stallMs)}`)];
  }

  /** A replica was released, or its successor was started: what is wrong with that. */
  released(name: string, uid: string, proof: string | undefined, node: string): readonly Violation[] {
    this.checked += 1;
    return this.#wrongRelease(name, uid, proof, node).map((message) => this.#violation(message));
  }

  #wrongRelease(name: string, uid: string, proof: string | undefined, node: string): readonly string[] {
    const runs =
      (this.#running.get(uid) ?? 0) > 0 ? [`${name} was released by ${proof}, and ${uid} still runs`] : [];
    if (!proofs.includes(proof)) return runs;
    const startedOn = this.#startedOn.get(uid);
    const machines =
      startedOn !== undefined
        ? [startedOn]
        : proof === 'FenceExpired'
          ? [...(this.#machines.get(node) ?? [])]
          : [];
    return [
      ...runs,
      ...machines.flatMap((machine) => {
        const leftMs = this.#permits.get(machine)?.() ?? 0;
        return leftMs <= roundingMs
          ? []
          : [
              `${name} was released by ${proof}, and the supervisor of ${machine} may run it for ${Math.round(leftMs)} ms more`,
            ];
      }),
    ];
  }

  #violation(message: string): Violation {
    return { rule: this.rule, revision: this.#revision, message };
  }
}

/** A parsed boundary: the object of a replica stands under the other one of its two keys. */
const uidIn = (state: CellState, key: string): string | undefined =>
  (state.get(key.replace('/s/', '/o/')) as { readonly metadata: { readonly uid: string } } | undefined)
    ?.metadata.uid;
