import type { MonotonicInstant } from '../../env/instant.js';
import type { Node } from '../../model/kinds/node.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { Workload } from '../../model/kinds/workload.js';
import type { WorkloadRevision } from '../../model/kinds/workload-revision.js';
import type { Outcome } from '../../model/ports.js';
import { isInJournal } from '../../model/journal.js';
import { type Epoch, type FenceRecord, shownEpoch } from '../../model/records.js';
import { remarksOnUnknown } from '../../model/remarks.js';
import { refOf } from '../../model/replica-ref.js';
import type { BrakeObserver } from '../../observe/brake-observer.js';
import type { FreshnessObserver } from '../../observe/freshness-observer.js';
import type { Judgement } from '../../observe/node-freshness.js';
import { isTerminal } from '../../model/stages.js';
import { type Acting, keyOfObject, splitKey } from '../runtime/acting.js';
import { carryOut } from '../runtime/carry-out.js';
import { FirstSeen } from '../runtime/first-seen.js';
import { after, done, type Reconciler, type Requeue } from '../runtime/requeue.js';
import { controllerUidOf } from '../workload/workload-operations.js';
import {
  deadlineOf,
  givesAway,
  type LostRule,
  nextRepairStep,
  permitsOf,
  type NodeEvidence,
  type RepairInput,
  type RepairStep,
  whileItMayRun,
} from './next-repair-step.js';
import { overrunShownMs } from './node-upkeep.js';
import { RepairBudget, type RepairRates } from './repair-budget.js';
import { StageDeadlines } from './stage-deadlines.js';
import { Stays } from './stays.js';

export interface RepairParts {
  readonly acting: Acting;
  readonly freshness: FreshnessObserver;
  readonly brakes: BrakeObserver;
  readonly rates?: RepairRates;
  /** The fence of the cell. */
  readonly fence: () => FenceRecord;
  /** Has a key looked at. */
  readonly wake: (key: string) => void;
}

// However many a brake holds back, they are not looked at more often than this: a zone may have a hundred thousand.
const msPerHeld = 4;
const startDeadlineSecondsUsual = 300;
const graceSecondsUsual = 8;

/**
 * Moves replicas whose node is lost to the next stage their workload's rule allows, and no further. Keys are replicas.
 * Everything is counted from when this term began at the earliest: a new leader knows nothing of what was before.
 */
export class RepairReconciler implements Reconciler {
  readonly #stays: Stays;
  readonly #deadlines: StageDeadlines;
  // Overruns that are told for a time.
  readonly #overruns: FirstSeen;
  readonly #budget: RepairBudget;
  readonly #leadingSince: MonotonicInstant;
  /** What a brake held back when it was last looked at. */
  readonly #held = new Set<string>();

  constructor(private readonly parts: RepairParts) {
    const { env } = parts.acting;
    this.#stays = new Stays(env);
    this.#deadlines = new StageDeadlines({
      env,
      isStill: (key, stay) => this.#isStill(key, stay),
      onOver: (key, stay, since) => {
        this.#stays.began(key, stay, since);
        parts.wake(key);
      },
    });
    this.#overruns = new FirstSeen(env);
    this.#budget = new RepairBudget(env, parts.rates);
    this.#leadingSince = env.clock.monotonic();
  }

  /** Of a replica that `onlyStarts`: looks at it when its deadline has passed, unless it has gone on by then. */
  await(replica: Replica): void {
    const { stage = 'Queued' } = replica.status ?? {};
    const deadline = deadlineOf({ stage, ...this.#deadlinesOf(replica) });
    if (deadline !== undefined)
      this.#deadlines.watch(keyOfReplica(replica), stayId(replica, undefined), deadline.ms);
  }

  /** Watches deadlines until the signal aborts. */
  watchDeadlines(signal: AbortSignal): Promise<void> {
    return this.#deadlines.run(signal);
  }

  #isStill(key: string, stay: string): boolean {
    const { tenant, name } = splitKey(key);
    const replica = this.parts.acting.objects.get<Replica>('Replica', tenant, name);
    return replica !== undefined && stayId(replica, undefined) === stay;
  }

  async reconcile(key: string, signal: AbortSignal): Promise<Requeue> {
    const { acting, freshness } = this.parts;
    const { tenant, name } = splitKey(key);
    const replica = acting.objects.get<Replica>('Replica', tenant, name);
    const node = replica?.status?.binding?.node;
    this.#held.delete(key);
    if (replica === undefined || node === undefined) {
      this.#budget.leave(key);
      this.#stays.forget(key);
      this.#overruns.retain(key, []);
      return done;
    }
    if (isTerminal(replica.status?.stage ?? 'Queued')) {
      this.#budget.leave(key);
      return this.#endOverrun(key, replica, signal);
    }
    const judgement = freshness.judge(node, this.#leadingSince);
    const waitsMs = this.#waitsMs(key, replica, judgement);
    if (waitsMs !== undefined) {
      this.#budget.leave(key);
      return waitsMs === 'long' ? done : after(waitsMs, 'a deadline of repair');
    }
    const { spec } = acting.objects.get<Node>('Node', undefined, node) ?? {};
    const { region = 'local', zone = 'local' } = spec ?? {};
    const brakes = this.parts.brakes.now(this.#leadingSince);
    const brake = brakes.at(region, zone);
    const step = nextRepairStep({ ...this.#input(key, replica, judgement), brake: brake.state });
    permitsOf(step);
    const isGivenAway = givesAway(step) && !isSaid(replica, 'Replaceable');
    if (!isGivenAway) this.#budget.leave(key);
    if (step.kind === 'held') {
      this.#held.add(key);
      return after(Math.max(step.ms, this.#held.size * msPerHeld), 'a brake holds repair back there');
    }
    if (step.kind === 'wait' || (step.kind === 'tell' && isTold(replica, step)))
      return step.ms === undefined ? done : after(step.ms, 'a deadline of repair');
    const waitMs = isGivenAway ? this.#budget.take(key, `${region}/${zone}`, brake.state === 'Slow') : 0;
    if (waitMs > 0) return after(waitMs, 'its turn in the budget of repair comes');
    const evidence = evidenceOf(judgement, brakes.silentAround(region, zone));
    const operation = this.#operation(replica, step, evidence);
    const requeue = await carryOut(acting, 'repair', key, [operation], signal);
    if (requeue.kind !== 'done' || step.kind !== 'tell' || step.ms === undefined) return requeue;
    return after(step.ms, 'a deadline of repair');
  }

  /**
   * How long one that may run has until a deadline; undefined: something is to be done. A mass start wakes repair for each
   * replica, and of nearly all of them there is no more to know.
   */
  #waitsMs(key: string, replica: Replica, judgement: Judgement | undefined): number | 'long' | undefined {
    const { stage = 'Queued' } = replica.status ?? {};
    if (stage === 'Unknown' || judgement === undefined) return undefined;
    const isHeard = isHeardOf(judgement);
    const anotherJournal = this.#anotherJournal(replica);
    const { inStageMs } = this.#stays.look(key, stayId(replica, anotherJournal), isHeard);
    const { silentMs, leaseMs, leaseRevision } = judgement;
    // Whether it is attested that all has stopped there matters to those of which nobody knows.
    const node = {
      ...{ silentMs, leaseMs, leaseRevision, isHeard, isAttested: false },
      ...(anotherJournal !== undefined && { anotherJournal }),
    };
    const step = whileItMayRun({ ...{ stage, node, inStageMs }, ...this.#deadlinesOf(replica) });
    return step.kind === 'wait' ? (step.ms ?? 'long') : undefined;
  }

  /** Where the journal of its node began, if that was after it was bound and its agent has not said that it knows of it. */
  #anotherJournal({ status }: Replica): Epoch | undefined {
    const { binding } = status ?? {};
    if (binding === undefined) return undefined;
    const node = this.parts.acting.objects.get<Node>('Node', undefined, binding.node);
    const journalSince = node?.status?.journalSince;
    return isInJournal(binding, journalSince) ? undefined : journalSince;
  }

  #deadlinesOf({ metadata, spec, status }: Replica): {
    readonly startDeadlineSeconds: number;
    readonly graceSeconds: number;
  } {
    const { objects } = this.parts.acting;
    const { namespace } = metadata;
    const template = objects.get<WorkloadRevision>('WorkloadRevision', namespace, spec.revision)?.spec
      .template;
    return {
      startDeadlineSeconds: template?.startDeadlineSeconds ?? startDeadlineSecondsUsual,
      graceSeconds: status?.intent?.graceSeconds ?? template?.terminationGraceSeconds ?? graceSecondsUsual,
    };
  }

  /** That a fence was overrun is told for a time. A later leader counts anew only if something wakes it. */
  async #endOverrun(key: string, replica: Replica, signal: AbortSignal): Promise<Requeue> {
    const { acting } = this.parts;
    const { stage = 'Queued', conditions = [] } = replica.status ?? {};
    const overrun = conditions.find(isTrue('FenceOverrun'));
    const id = overrun && `overrun ${overrun.lastTransitionTime}`;
    this.#stays.forget(key);
    this.#overruns.retain(key, id === undefined ? [] : [id]);
    if (id === undefined) return done;
    const leftMs = overrunShownMs - this.#overruns.ageMs(key, id);
    if (leftMs > 0) return after(leftMs, 'an overrun is told for a time');
    const about = { kind: 'Replica', replica: refOf(replica), stage } as const;
    const { authority, actor } = acting;
    const clear = () => authority.remark({ actor, about, set: [], clear: ['FenceOverrun'] });
    return carryOut(acting, 'repair', key, [clear], signal);
  }

  #input(key: string, replica: Replica, judgement: Judgement | undefined): Omit<RepairInput, 'brake'> {
    const { acting, fence } = this.parts;
    const { objects } = acting;
    const { status } = replica;
    const node = objects.get<Node>('Node', undefined, status?.binding?.node ?? '');
    const anotherJournal = this.#anotherJournal(replica);
    const evidence: NodeEvidence | undefined = judgement && {
      ...{ silentMs: judgement.silentMs, leaseMs: judgement.leaseMs, leaseRevision: judgement.leaseRevision },
      isHeard: isHeardOf(judgement),
      isAttested: node?.status?.attestation !== undefined,
      ...(anotherJournal !== undefined && { anotherJournal }),
    };
    return {
      stage: status?.stage ?? 'Queued',
      isFenced: status?.binding?.isFenced === true,
      isAskedToStop: status?.intent !== undefined,
      isReplaced: isSaid(replica, 'Superseded'),
      rule: this.#rule(replica),
      node: evidence,
      ...this.#stays.look(key, stayId(replica, anotherJournal), evidence?.isHeard === true),
      ...this.#deadlinesOf(replica),
      fence: fence(),
    };
  }

  #rule(replica: Replica): LostRule {
    const { namespace } = replica.metadata;
    const { objects } = this.parts.acting;
    const workload = objects.get<Workload>('Workload', namespace, replica.spec.workload);
    const isOwner = workload !== undefined && workload.metadata.uid === controllerUidOf(replica);
    const { action, afterSeconds = 0 } = (isOwner && workload.spec.onNodeLost) || {};
    if (!isOwner) return { action: 'Gone' };
    // What it was promised counts, whatever its workload says since: the authority would not let a second one beside it.
    const promised = objects.get<WorkloadRevision>('WorkloadRevision', namespace, replica.spec.revision);
    if (action === 'Replace' && promised?.spec.template.execution === 'AtMostOne')
      return { action: 'Fence', afterSeconds };
    // Of what nothing more is known the strictest is assumed.
    return { action: action ?? 'Wait', afterSeconds };
  }

  #operation(
    replica: Replica,
    step: Exclude<RepairStep, { kind: 'wait' | 'held' }>,
    evidence: Readonly<Record<string, string>>,
  ): () => Promise<Outcome<unknown>> {
    const { authority, actor } = this.parts.acting;
    const ref = refOf(replica);
    const stage = replica.status?.stage ?? 'Queued';
    // The same for the same step of the same stay at a stage, so that an outcome that is not known is asked for again.
    const operation = (verb: string): string => `${verb}/${ref.uid}/${lastRevision(replica)}`;
    switch (step.kind) {
      case 'move':
        return () =>
          authority.move({
            ...{ actor, replica: ref, from: stage, to: 'Unknown', reason: step.reason },
            ...{ operation: operation('unknown'), evidence },
          });
      case 'release':
        return () =>
          authority.release({
            ...{ actor, replica: ref, proof: step.proof, reason: step.proof.kind },
            operation: operation(`release-${step.proof.kind}`),
          });
      case 'stop':
        return () =>
          authority.evict({ actor, replica: ref, reason: step.reason, operation: operation('stop') });
      case 'tell':
        return () =>
          authority.remark({
            ...{ actor, about: { kind: 'Replica', replica: ref, stage }, set: step.remarks },
            clear: remarksOnUnknown.filter((type) => !step.remarks.some((remark) => remark.type === type)),
          });
    }
  }
}

/** What is to be told is what stands there already. */
function isTold(replica: Replica, step: RepairStep & { readonly kind: 'tell' }): boolean {
  const { conditions = [] } = replica.status ?? {};
  return remarksOnUnknown.every(
    (type) =>
      conditions.find((condition) => condition.type === type)?.reason ===
      step.remarks.find((remark) => remark.type === type)?.reason,
  );
}

const isTrue =
  (asked: string) =>
  ({ type, status }: { readonly type: string; readonly status: string }): boolean =>
    type === asked && status === 'True';

const isSaid = ({ status }: Replica, type: string): boolean =>
  status?.conditions?.some(isTrue(type)) === true;

const isHeardOf = ({ ageMs, leaseMs }: Judgement): boolean => ageMs !== undefined && ageMs <= leaseMs;

const keyOfReplica = ({ metadata }: Replica): string => keyOfObject(metadata.namespace, metadata.name);

const lastRevision = ({ status }: Replica): string => status?.transitions?.at(-1)?.revision ?? '0';

/**
 * One stay at one stage: what brought it there. [S5] With another journal of its node another one begins, so that what is
 * counted under it is never counted from before.
 */
function stayId({ metadata, status }: Replica, anotherJournal: Epoch | undefined): string {
  const id = status?.transitions?.at(-1)?.operation ?? `${metadata.uid} ${status?.stage}`;
  return anotherJournal === undefined ? id : `${id} ${shownEpoch(anotherJournal)}`;
}

/** What a verdict was made from, for people. */
function evidenceOf(
  judgement: Judgement | undefined,
  silentAround: string,
): Readonly<Record<string, string>> {
  if (judgement === undefined) return { nodeLease: 'none', silentAround };
  const seconds = (ms: number): string => `${Math.round(ms / 1_000)} s`;
  return {
    silentAround,
    silent: seconds(judgement.silentMs),
    leaseDuration: seconds(judgement.leaseMs),
    leaseRevision: String(judgement.leaseRevision),
    arrivals: judgement.arrivalsMs.map((ms) => `${seconds(ms)} ago`).join(', ') || 'none under this leader',
  };
}
