import type { Replica } from '../../model/kinds/replica.js';
import type { Workload } from '../../model/kinds/workload.js';
import { type Epoch, sameEpoch } from '../../model/records.js';
import { CellView, placeOf } from './cell-view.js';
import type { CellState, Commit, SafetyChecker, Violation } from './checker.js';
import { simulatedVersions } from './simulated-versions.js';
import { actorOf, appendedTransitions, type ReplicaChange, replicaChanges } from './transitions.js';

/** A replica served from one revision until before another. */
interface Service {
  readonly uid: string;
  readonly owner: string;
  readonly slot: string;
  readonly since: number;
  until: number;
}

/** A serving replica was asked to leave. */
interface Move {
  readonly epoch: Epoch | undefined;
  readonly uid: string;
  readonly revision: number;
}

/** What a workload said from one revision on. */
interface Said {
  readonly since: number;
  readonly uid: string;
  readonly spec: Workload['spec'] | undefined;
}

// With these a controller of drains asks replicas to leave; each says what it was decided from.
const drainReasons: readonly string[] = ['Drained', 'TaintNoExecute'];

/**
 * [S6] A drain asks no replica of a service to leave that serves while as many as may be unavailable do not serve: as it saw
 * the replicas at the revision that it names, its own moves since then counted, and by what the workload has said at any
 * time between that revision and the commit.
 */
export class VoluntaryMoves implements SafetyChecker {
  readonly rule = 'S6';
  checked = 0;
  /** By the key of the workload. */
  readonly #services = new Map<string, Service[]>();
  readonly #moves = new Map<string, Move[]>();
  readonly #said = new Map<string, Said[]>();

  onCommit(commit: Commit, state: CellState): readonly Violation[] {
    const cell = new CellView(state);
    for (const { key, after } of commit.changes) {
      const place = placeOf(key);
      if (place?.part !== 'o' || place.kind !== 'Workload') continue;
      const stored = after as Workload | undefined;
      const said = { since: commit.revision, uid: stored?.metadata.uid ?? '', spec: stored?.spec };
      listIn(this.#said, `${place.tenant}/${place.name}`).push(said);
    }
    const messages: string[] = [];
    for (const change of replicaChanges(commit)) {
      const replica = cell.object('Replica', change.tenant, change.name);
      if (replica !== undefined) messages.push(...this.#judge(replica, change, commit.revision));
      this.#note(replica, change, commit.revision);
    }
    return messages.map((message) => ({ rule: this.rule, revision: state.revision, message }));
  }

  whole(): readonly Violation[] {
    return [];
  }

  #judge(replica: Replica, change: ReplicaChange, revision: number): readonly string[] {
    const { uid } = replica.metadata;
    const key = `${change.tenant}/${replica.spec.workload}`;
    const messages: string[] = [];
    let { stage } = change.before ?? {};
    for (const transition of appendedTransitions(change) ?? []) {
      const served = stage === 'Serving';
      stage = transition.to;
      const isDrain = actorOf(transition).kind === 'drain' && drainReasons.includes(transition.reason);
      if (!isDrain || !served || transition.to !== 'Releasing') continue;
      this.checked += 1;
      const { epoch, evidence = {} } = transition;
      const seen = simulatedVersions.revisionOf(Number(evidence['seenRevision']));
      if (Number.isNaN(seen)) messages.push(`${change.key} was drained, and it is not said what was seen`);
      else messages.push(...this.#wrong(key, change.key, { uid, seen, revision, epoch }));
      listIn(this.#moves, key).push({ epoch, uid, revision });
    }
    return messages;
  }

  #wrong(
    workload: string,
    replica: string,
    { uid, seen, revision, epoch }: Move & { readonly seen: number },
  ): readonly string[] {
    const services = listIn(this.#services, workload).filter(
      ({ since, until }) => since <= seen && seen < until,
    );
    // It did not serve yet when that was decided.
    if (!services.some((service) => service.uid === uid)) return [];
    const moved = new Set<string>();
    for (const move of listIn(this.#moves, workload))
      if (move.epoch !== undefined && epoch !== undefined && sameEpoch(move.epoch, epoch))
        moved.add(move.uid);
    const away = listIn(this.#said, workload)
      .filter((_, index, all) => (all[index + 1]?.since ?? Number.POSITIVE_INFINITY) > seen)
      .map(({ uid: owner, spec }) => {
        if (spec === undefined || (spec.type ?? 'Service') !== 'Service') return undefined;
        const { replicas: desired = 1, disruption } = spec;
        const serving = new Set(
          services
            .filter((service) => service.owner === owner && !moved.has(service.uid))
            .map(({ slot }) => slot)
            .filter((slot) => Number(slot) < desired),
        );
        const most = disruption?.maxUnavailable ?? 1;
        const count = desired - serving.size;
        return count < most ? undefined : { count, most, desired };
      });
    if (away.length === 0 || away.includes(undefined)) return [];
    const [first] = away;
    return [
      `${replica} was drained at revision ${revision}; at ${seen}, when it was decided, ${first?.count} of ${first?.desired} did not serve or had been drained, and at most ${first?.most} may`,
    ];
  }

  #note(replica: Replica | undefined, { tenant, before, after }: ReplicaChange, revision: number): void {
    if (replica === undefined) return;
    const { uid, ownerReferences = [] } = replica.metadata;
    const { workload, slot } = replica.spec;
    const services = listIn(this.#services, `${tenant}/${workload}`);
    if (after?.stage === 'Serving' && before?.stage !== 'Serving') {
      const owner = ownerReferences.find(({ controller }) => controller === true)?.uid ?? '';
      services.push({ uid, owner, slot, since: revision, until: Number.POSITIVE_INFINITY });
    }
    if (before?.stage !== 'Serving' || after?.stage === 'Serving') return;
    const last = services.findLast((service) => service.uid === uid);
    if (last !== undefined) last.until = revision;
  }
}

function listIn<T>(lists: Map<string, T[]>, key: string): T[] {
  const known = lists.get(key) ?? [];
  lists.set(key, known);
  return known;
}
