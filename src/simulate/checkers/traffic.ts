import type { Endpoints } from '../../model/kinds/endpoints.js';
import type { ReplicaStatus } from '../../model/kinds/replica.js';
import type { ReplicaRef } from '../../model/ports.js';
import { statusKey } from '../../model/records.js';
import { isTerminal } from '../../model/stages.js';
import { awaitsWithdrawal, withdrawWaitMs } from '../../model/withdrawal.js';
import { CellView, placeOf } from './cell-view.js';
import type { CellState, Commit, SafetyChecker, Violation } from './checker.js';
import { shownMs } from './shown-ms.js';
import { replicaChanges } from './transitions.js';

// Clocks of processes run at slightly different rates.
const driftMs = 100;

/**
 * [S6] The endpoints name only replicas that say so themselves, and a replica is asked to stop only after it has left
 * them, or when the wait for that is over. The world tells when a node hears that it shall stop one.
 */
export class Traffic implements SafetyChecker {
  readonly rule = 'S6';
  checked = 0;
  #state: CellState | undefined;
  // When each replica that clients may be sent to was asked for, by uid; kept for as long as the run.
  readonly #askedAtMs = new Map<string, number>();

  onCommit(commit: Commit, state: CellState): readonly Violation[] {
    this.#state = state;
    const cell = new CellView(state);
    const touched = new Set<string>();
    for (const { key } of commit.changes)
      if (placeOf(key)?.kind === 'Endpoints') touched.add(key.replace(/^\/o\//, '/s/'));
    for (const { tenant, name, before, after } of replicaChanges(commit)) {
      const replica = cell.object('Replica', tenant, name);
      if (replica === undefined || after === undefined) continue;
      const { uid } = replica.metadata;
      if (awaitsWithdrawal({ status: after }) && !this.#askedAtMs.has(uid))
        this.#askedAtMs.set(uid, commit.atMs);
      if (before?.isListed === true && after.isListed !== true)
        touched.add(statusKey('Endpoints', tenant, replica.spec.workload));
    }
    return [...touched].flatMap((key) => this.#wrong(cell, key));
  }

  whole(state: CellState): readonly Violation[] {
    const cell = new CellView(state);
    return [...state.under('/s/Endpoints/')].flatMap(([key]) => this.#wrong(cell, key));
  }

  /** When a replica that was listed was first to stop; undefined if it never was. */
  askedAtMs(uid: string): number | undefined {
    return this.#askedAtMs.get(uid);
  }

  /** A node hears that it shall stop a replica. */
  noteStop({ tenant, name, uid }: ReplicaRef, atMs: number): readonly Violation[] {
    if (this.#state === undefined) return [];
    const replica = new CellView(this.#state).object('Replica', tenant, name);
    const askedAtMs = this.#askedAtMs.get(uid);
    if (askedAtMs === undefined || replica?.metadata.uid !== uid) return [];
    this.checked += 1;
    if (!awaitsWithdrawal(replica) || atMs - askedAtMs >= withdrawWaitMs - driftMs) return [];
    const message = `${tenant}/${name} was asked to stop at ${shownMs(atMs)}; it is listed, since ${shownMs(askedAtMs)} in vain`;
    return [this.#violation(this.#state, message)];
  }

  #wrong(cell: CellView, key: string): readonly Violation[] {
    const place = placeOf(key);
    const stored = cell.state.get(key) as { readonly status?: Endpoints['status'] } | undefined;
    return (stored?.status?.addresses ?? []).flatMap(({ replica: name, fence }) => {
      this.checked += 1;
      const status: ReplicaStatus | undefined = cell.object('Replica', place?.tenant, name)?.status;
      if (status === undefined || isTerminal(status.stage) || status.isListed === true) return [];
      // One that has ended and was forgotten; another has its name by now.
      if (fence !== undefined && status.binding?.fence !== fence) return [];
      return [this.#violation(cell.state, `${key} lists ${name}, which was withdrawn (${status.stage})`)];
    });
  }

  #violation({ revision }: CellState, message: string): Violation {
    return { rule: this.rule, revision, message };
  }
}
