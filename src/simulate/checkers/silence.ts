import { fenceContract } from '../../model/fence-contract.js';
import type { Node } from '../../model/kinds/node.js';
import type { ReplicaStatus, ReplicaTransition } from '../../model/kinds/replica.js';
import type { Workload } from '../../model/kinds/workload.js';
import {
  type Epoch,
  type FenceRecord,
  type NodeEpoch,
  nodeLeaseName,
  sameEpoch,
} from '../../model/records.js';
import { CellView, placeOf } from './cell-view.js';
import type { CellState, Commit, CommittedChange, SafetyChecker, Violation } from './checker.js';
import { LeaseChanges } from './lease-changes.js';
import { Terms } from './terms.js';
import { actorOf, appendedTransitions, type ReplicaChange, replicaChanges } from './transitions.js';

// No node is late before that (docs/repair.md).
const suspectMsLeast = 11_000;

/** When something began, by the clock of the world. */
interface Began {
  readonly epoch: Epoch;
  readonly atMs: number;
}

/**
 * [S5] A leader acts on a silence only after it has lasted for its whole time under this leader. A release by expiry needs
 * the fence window since the later of two moments: the last change of the lease (or the beginning of the journal), and the
 * start of the term in which it is made. The verdicts Suspect, Unknown and Lost on a node, Unknown of a replica and
 * Replaceable need their time since the start of the term and since the last renewal that every leader must have seen: a
 * leader whose watch lags may not know of the latest one. Times are those of the world, less what the clock of a leader may
 * be fast by.
 */
export class Silence implements SafetyChecker {
  readonly rule = 'S5';
  checked = 0;
  readonly #terms = new Terms();
  readonly #leases = new LeaseChanges();
  readonly #journals = new Map<string, Began>();
  /** The shortest time after which each workload ever wanted a lost replica replaced: a cache may lag behind. */
  readonly #leastAfterMs = new Map<string, number>();

  onCommit(commit: Commit, state: CellState): readonly Violation[] {
    const cell = new CellView(state);
    const messages: string[] = [];
    for (const change of commit.changes) this.#noteWorkload(change);
    for (const change of replicaChanges(commit)) messages.push(...this.#ofReplica(cell, change, commit.atMs));
    for (const change of commit.changes) {
      const place = placeOf(change.key);
      if (place?.part === 's' && place.kind === 'Node')
        messages.push(...this.#ofNode(cell, place.name, change, commit.atMs));
    }
    for (const change of commit.changes) this.#noteJournal(change, commit.atMs);
    this.#leases.onCommit(commit);
    this.#terms.onCommit(commit);
    return messages.map((message) => ({ rule: this.rule, revision: state.revision, message }));
  }

  whole(): readonly Violation[] {
    return [];
  }

  #noteWorkload({ key, after }: CommittedChange): void {
    const place = placeOf(key);
    if (place?.part !== 'o' || place.kind !== 'Workload' || after === undefined) return;
    const { onNodeLost } = (after as Workload).spec;
    const name = `${place.tenant}/${place.name}`;
    const afterMs = (onNodeLost?.afterSeconds ?? 0) * 1_000;
    this.#leastAfterMs.set(name, Math.min(afterMs, this.#leastAfterMs.get(name) ?? afterMs));
  }

  #noteJournal({ key, after }: CommittedChange, atMs: number): void {
    if (after === undefined || !key.startsWith('/e/')) return;
    const { journalSince } = after as NodeEpoch;
    const known = this.#journals.get(key);
    if (journalSince !== undefined && (known === undefined || !sameEpoch(known.epoch, journalSince)))
      this.#journals.set(key, { epoch: journalSince, atMs });
  }

  /** Since when a leader has seen a node silent: not before its term, nor before a renewal that it must have seen. */
  #silentSinceMs(node: string, term: number, atMs: number): number {
    return Math.max(term, this.#leases.seenMs(nodeLeaseName(node), atMs));
  }

  #ofReplica(cell: CellView, change: ReplicaChange, atMs: number): readonly string[] {
    const { key, before, after } = change;
    const node = before?.binding?.node;
    if (node === undefined) return [];
    const messages: string[] = [];
    for (const transition of appendedTransitions(change) ?? []) {
      if (actorOf(transition).kind !== 'repair-controller') continue;
      this.checked += 1;
      const term = this.#terms.sinceMs('repair-controller', transition.epoch);
      messages.push(...this.#ofRelease(cell, key, node, transition, term, atMs));
      if (transition.to === 'Unknown' && transition.reason === 'LeaseExpired')
        messages.push(
          ...tooShort(
            `${key} was called Unknown`,
            atMs - this.#silentSinceMs(node, term, atMs),
            leaseMsOf(cell, node),
          ),
        );
    }
    if (isReplaceable(after) && !isReplaceable(before)) {
      const { metadata, spec } = cell.object('Replica', change.tenant, change.name) ?? {};
      const workload = `${metadata?.namespace}/${spec?.workload}`;
      const term = this.#terms.sinceMs('repair-controller');
      const afterMs = this.#leastAfterMs.get(workload) ?? 0;
      // A replica that is Unknown for another reason may be counted from that reason instead of from the silence.
      const isBySilence =
        before?.transitions?.at(-1)?.reason === 'LeaseExpired' &&
        atMs - this.#leases.lastMs(nodeLeaseName(node)) >= leaseMsOf(cell, node);
      const since = isBySilence ? this.#silentSinceMs(node, term, atMs) : term;
      messages.push(...tooShort(`${key} was called Replaceable`, atMs - since, afterMs));
    }
    return messages;
  }

  #ofRelease(
    cell: CellView,
    key: string,
    node: string,
    { to, evidence = {} }: ReplicaTransition,
    term: number,
    atMs: number,
  ): readonly string[] {
    const proof = evidence['proof'];
    if (to !== 'Released' || (proof !== 'FenceExpired' && proof !== 'JournalExpired')) return [];
    // A parsed boundary: the authority writes it.
    const stored = cell.state.get('/m/fence') as FenceRecord | undefined;
    const windowMs = (stored ?? fenceContract).windowSeconds * 1_000;
    const what = `${key} was released by ${proof} from ${node}`;
    if (proof === 'JournalExpired') {
      const began = this.#journals.get(`/e/${node}`)?.atMs ?? Number.POSITIVE_INFINITY;
      return tooShort(what, atMs - Math.max(began, term), windowMs);
    }
    const changed = this.#leases.lastMs(nodeLeaseName(node));
    return [
      ...tooShort(what, atMs - Math.max(changed, term), windowMs),
      ...(cell.nodeEpoch(node)?.state === 'Open' ? [`${what}, whose epoch is still Open`] : []),
    ];
  }

  /** A verdict that says how long a node has been silent; one that was guessed is the world's own carelessness. */
  #ofNode(cell: CellView, node: string, { before, after }: CommittedChange, atMs: number): readonly string[] {
    const [was, is] = [before, after].map((value) => (value as Pick<Node, 'status'> | undefined)?.status);
    const reason = is?.gate?.reason ?? '';
    if (is === undefined || was?.reachability === is.reachability || !reason.includes('silent for'))
      return [];
    this.checked += 1;
    const neededMs = {
      Fresh: 0,
      Suspect: suspectMsLeast,
      Unknown: leaseMsOf(cell, node),
      Lost: fenceContract.windowSeconds * 1_000,
    };
    const what = `node ${node} was called ${is.reachability}`;
    const since = this.#silentSinceMs(node, this.#terms.sinceMs('detector'), atMs);
    const [arrivedMs = Number.POSITIVE_INFINITY] = (is.evidence?.arrivals ?? []).map(
      (seconds) => seconds * 1_000,
    );
    // A leader that saw the last renewal says how long ago that was, in whole seconds.
    const isTooSoon = is.reachability === 'Suspect' && Math.round(arrivedMs) < suspectMsLeast;
    if (isTooSoon) return [`${what} ${arrivedMs} ms after it was heard of, not ${suspectMsLeast}`];
    return tooShort(what, atMs - since, neededMs[is.reachability ?? 'Fresh']);
  }
}

const isReplaceable = (status: ReplicaStatus | undefined): boolean =>
  status?.conditions?.some(({ type, status: is }) => type === 'Replaceable' && is === 'True') === true;

const leaseMsOf = (cell: CellView, node: string): number =>
  (cell.lease(nodeLeaseName(node))?.durationSeconds ?? 0) * 1_000;

function tooShort(what: string, lastedMs: number, neededMs: number): readonly string[] {
  const leastMs = neededMs * (1 - fenceContract.driftMax);
  return lastedMs >= leastMs
    ? []
    : [`${what} for a silence of ${Math.round(lastedMs)} ms under this leader, not ${Math.round(leastMs)}`];
}
