import { isDeepStrictEqual } from 'node:util';
import type { MonotonicInstant } from '../../env/instant.js';
import type { Endpoints } from '../../model/kinds/endpoints.js';
import type { Node } from '../../model/kinds/node.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { Workload } from '../../model/kinds/workload.js';
import type { WorkloadRevision } from '../../model/kinds/workload-revision.js';
import type { Outcome } from '../../model/ports.js';
import { refOf } from '../../model/replica-ref.js';
import { isTerminal } from '../../model/stages.js';
import { awaitsWithdrawal } from '../../model/withdrawal.js';
import type { BrakeObserver } from '../../observe/brake-observer.js';
import { shownBrake } from '../../observe/brakes.js';
import { type Acting, splitKey } from '../runtime/acting.js';
import { carryOut } from '../runtime/carry-out.js';
import { FirstSeen } from '../runtime/first-seen.js';
import { Pace } from '../runtime/pace.js';
import { after, done, type Reconciler, type Requeue } from '../runtime/requeue.js';
import type { SlotIndex } from '../workload/slot-index.js';
import { endpointsOf, type TrafficMember } from './endpoints-of.js';
import {
  isListedAt,
  isNodeLost,
  nextTrafficStep,
  permitsFor,
  type TrafficStep,
} from './next-traffic-step.js';

export interface EndpointsParts {
  readonly acting: Acting;
  readonly slots: SlotIndex;
  /** Left out where nobody judges nodes. */
  readonly brakes?: BrakeObserver;
}

// Endpoints of many replicas are large, and written whole: 10,000 of them every five seconds at the most.
const replicasPerRestMs = 2;
// So many leave with one publication. Of the rest, those that shall stop leave after it, the others with the next.
const leavingMax = 32;
// What is kept although nothing is heard of it is looked at again after so long.
const keptLookMs = 5_000;

/** Moves the replicas of a service between Ready and Serving, and publishes where clients find them. Keys are workloads. */
export class EndpointsReconciler implements Reconciler {
  readonly #seen: FirstSeen;
  readonly #pace: Pace;
  // A leader knows only what it has seen as one.
  readonly #leadingSince: MonotonicInstant;

  constructor(private readonly parts: EndpointsParts) {
    this.#seen = new FirstSeen(parts.acting.env);
    this.#pace = new Pace(parts.acting.env, replicasPerRestMs);
    this.#leadingSince = parts.acting.env.clock.monotonic();
  }

  async reconcile(key: string, signal: AbortSignal): Promise<Requeue> {
    const { acting } = this.parts;
    const { tenant, name } = splitKey(key);
    const workload = acting.objects.get<Workload>('Workload', tenant, name);
    // A batch serves nobody.
    if (workload === undefined || workload.spec.type === 'Batch') {
      this.#seen.retain(key, []);
      return done;
    }
    const restMs = this.#pace.restMs(key);
    if (restMs > 0) return after(restMs, 'a large service is looked at now and then');
    // Before the replicas: what is published is refused if the endpoints have changed since this look.
    const endpoints = acting.objects.get<Endpoints>('Endpoints', tenant, name);
    const members = this.#members(key, workload);
    this.#pace.looked(key, members.length);
    const leaving = members.filter(
      ({ replica, step }) => replica.status?.isListed === true && !isListedAt(step, replica),
    );
    // Those that shall stop last: only they may leave after the publication.
    const inOrder = leaving.map(({ replica }) => replica).toSorted((a, b) => lastness(a) - lastness(b));
    const isPublished = await this.#publish(workload, endpoints, members, inOrder.slice(0, leavingMax));
    if (isPublished !== undefined && signal.aborted) return done;
    const operations = [
      ...(isPublished === undefined ? [] : [() => Promise.resolve(isPublished)]),
      ...(isPublished?.kind === 'Committed'
        ? inOrder.slice(leavingMax).flatMap((replica) => this.#withdrawalOf(replica, isPublished) ?? [])
        : []),
      ...members.flatMap((member) => this.#moveOf(member) ?? []),
    ];
    const requeue = await carryOut(acting, 'endpoints', key, operations, signal);
    if (requeue.kind !== 'done') return requeue;
    const waitMs = Math.min(...members.map(waitMsOf));
    return waitMs === Number.POSITIVE_INFINITY ? done : after(waitMs, 'readiness has to hold');
  }

  #members(key: string, workload: Workload): readonly TrafficMember[] {
    const { objects } = this.parts.acting;
    const counted: string[] = [];
    const ageMs = (id: string, isSo: boolean): number => {
      if (!isSo) return 0;
      counted.push(id);
      return this.#seen.ageMs(key, id);
    };
    const members: TrafficMember[] = [];
    for (const replica of this.#replicasOf(key, workload)) {
      const { status, spec, metadata } = replica;
      if (status === undefined || isTerminal(status.stage)) continue;
      const node = objects.get<Node>('Node', undefined, status.binding?.node ?? '');
      const isLost = isNodeLost(node);
      const since = status.transitions?.findLast(({ to }) => to === 'Ready')?.operation ?? '';
      const isReady = status.stage === 'Ready' && status.readiness?.isPassing !== false;
      const step = nextTrafficStep({
        ...{ replica, node },
        minReadySeconds:
          objects.get<WorkloadRevision>('WorkloadRevision', metadata.namespace, spec.revision)?.spec.template
            .minReadySeconds ?? 0,
        readyMs: ageMs(`ready ${metadata.uid} ${since}`, isReady),
        settlesMs: isLost ? this.#settlesMs(status.binding?.node) : 0,
        brake: isLost ? this.#brakeOn(node) : undefined,
      });
      // Stops here if the table of evidence does not allow it.
      permitsFor(step);
      members.push({ replica, node, step });
    }
    this.#seen.retain(key, counted);
    return members;
  }

  #settlesMs(node: string | undefined): number {
    return (node !== undefined && this.parts.brakes?.settlesMs(node, this.#leadingSince)) || 0;
  }

  /** Why nothing is concluded from the silence of a node, if so. */
  #brakeOn(node: Node | undefined): string | undefined {
    const { region = 'local', zone = 'local' } = node?.spec ?? {};
    const brake = this.parts.brakes?.now(this.#leadingSince).at(region, zone);
    return brake === undefined || brake.state === 'Off' ? undefined : shownBrake(brake);
  }

  *#replicasOf(key: string, { metadata }: Workload): Generator<Replica> {
    const { objects } = this.parts.acting;
    for (const { newest, older } of this.parts.slots.slotsOf(key, metadata.uid).values())
      for (const {
        metadata: { namespace, name },
      } of [newest, ...older]) {
        // As the cache shows it, like the endpoints: the index may be behind, and what is published must not be.
        const replica = objects.get<Replica>('Replica', namespace, name);
        if (replica !== undefined) yield replica;
      }
  }

  /** Publishes what is not as it was; undefined: all is. */
  async #publish(
    workload: Workload,
    before: Endpoints | undefined,
    members: readonly TrafficMember[],
    leaving: readonly Replica[],
  ): Promise<Outcome<unknown> | undefined> {
    const { authority, actor } = this.parts.acting;
    const { namespace: tenant = '', name, uid, generation } = workload.metadata;
    const endpoints = { ...endpointsOf(members), observedGeneration: generation };
    const { conditions: _, ...published } = before?.status ?? {};
    if (before !== undefined && leaving.length === 0 && isDeepStrictEqual(published, endpoints))
      return undefined;
    const seen = before?.metadata.resourceVersion;
    return authority.publish({
      ...{ actor, tenant, workload: name, workloadUid: uid, endpoints },
      leaving: leaving.map(refOf),
      ...(seen !== undefined && { seen }),
    });
  }

  #withdrawalOf(
    replica: Replica,
    { revision }: { readonly revision: string },
  ): (() => Promise<Outcome<unknown>>) | undefined {
    if (!awaitsWithdrawal(replica)) return undefined;
    const { authority, actor } = this.parts.acting;
    const { workload } = replica.spec;
    return () => authority.withdraw({ actor, replica: refOf(replica), workload, seen: revision });
  }

  #moveOf({ replica, step }: TrafficMember): (() => Promise<Outcome<unknown>>) | undefined {
    if (step.kind !== 'Enter' && step.kind !== 'Leave' && step.kind !== 'Withdrawn') return undefined;
    const { authority, actor } = this.parts.acting;
    const [from, to] =
      step.kind === 'Enter' ? (['Ready', 'Serving'] as const) : (['Serving', 'Ready'] as const);
    return () =>
      authority.move({
        ...{ actor, replica: refOf(replica), from, to },
        reason: reasonOf(step),
        ...(step.kind === 'Leave' && { evidence: { signal: step.on, message: step.message } }),
        // From where it is now: a later move of the same sort is another one.
        operation: `traffic/${replica.metadata.uid}/${to}/${replica.metadata.resourceVersion}`,
      });
  }
}

const lastness = (replica: Replica): number => (awaitsWithdrawal(replica) ? 1 : 0);

const reasonOf = (step: TrafficStep & { readonly kind: 'Enter' | 'Leave' | 'Withdrawn' }): string =>
  step.kind === 'Leave' ? step.reason : step.kind === 'Enter' ? 'ReadyLongEnough' : 'Withdrawn';

function waitMsOf({ step }: TrafficMember): number {
  if (step.kind === 'Keep') return keptLookMs;
  return ('ms' in step ? step.ms : undefined) ?? Number.POSITIVE_INFINITY;
}
