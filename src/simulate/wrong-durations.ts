import type { Node } from '../model/kinds/node.js';
import type { Lease } from '../model/kinds/lease.js';
import type { Reservation } from '../model/kinds/reservation.js';
import type { Workload } from '../model/kinds/workload.js';
import type { WorkloadRevision } from '../model/kinds/workload-revision.js';
import { FreshnessObserver } from '../observe/freshness-observer.js';
import { type Judgement, type Look, usualFreshness } from '../observe/node-freshness.js';
import { usualBrakes } from '../observe/brakes.js';
import { usualRepairRates } from '../reconcile/repair/repair-budget.js';
import { type ActorShape, atRate, reading, rightActors } from './actor-shape.js';
import { withSilence } from './controller-defects.js';

/**
 * A duration that is cut by a tenth (`short`), or that never ends (`never`), each put in by itself: see `timed-promises.ts`.
 * Where an object says how long it lasts, whoever counts it reads another number; elsewhere a clock is wrong.
 */
export const wrongDurationNames = [
  ...(['lease.takeover.short', 'hold.expiry.short', 'hold.expiry.never', 'hold.kept.short'] as const),
  ...(['stage.bound.short', 'stage.bound.never', 'stage.starting.short', 'stage.starting.never'] as const),
  ...(['stage.releasing.short', 'stage.releasing.never', 'stage.lease.never'] as const),
  ...([
    'repair.replaceable.short',
    'repair.replaceable.never',
    'repair.human.short',
    'repair.human.never',
  ] as const),
  ...(['repair.answer.short', 'repair.answer.never', 'repair.together.short'] as const),
  ...(['window.release.never', 'window.journal.short', 'window.settle.short'] as const),
  ...(['attestation.short', 'attestation.never'] as const),
  ...(['brake.hold.short', 'brake.linger.short', 'brake.slow.short'] as const),
  ...(['drain.deadline.short', 'drain.deadline.never'] as const),
  ...(['traffic.minReady.short', 'traffic.withdrawal.short', 'slot.backoff.short'] as const),
  ...(['job.grace.short', 'job.grace.long', 'job.start.short', 'job.start.never'] as const),
  'silence.suspect.short',
  ...(['node.reopens.never', 'node.registers.never'] as const),
] as const;
export type WrongDurationName = (typeof wrongDurationNames)[number];

const [short, never, long] = [0.9, 100, 1.1];
const fast = atRate(1 / short);

const readAs = (reads: ActorShape['reads']): ActorShape => ({ ...rightActors, reads });

const holds = (share: number): ActorShape =>
  readAs(
    reading<Reservation>('Reservation', (hold) => ({
      ...hold,
      spec: { ...hold.spec, deadlineSeconds: hold.spec.deadlineSeconds * share },
    })),
  );

/** The template of one workload, as repair and the endpoints controller read it. */
const templates = (
  workload: string,
  field: 'startDeadlineSeconds' | 'terminationGraceSeconds' | 'minReadySeconds',
  share: number,
): ActorShape =>
  readAs(
    reading<WorkloadRevision>('WorkloadRevision', (revision) => {
      const { template } = revision.spec;
      return revision.spec.workload === workload
        ? {
            ...revision,
            spec: { ...revision.spec, template: { ...template, [field]: (template[field] ?? 0) * share } },
          }
        : revision;
    }),
  );

const lostAfter = (action: 'Replace' | 'Wait', share: number): ActorShape =>
  readAs(
    reading<Workload>('Workload', (workload) => {
      const { onNodeLost } = workload.spec;
      return onNodeLost?.action === action
        ? {
            ...workload,
            spec: {
              ...workload.spec,
              onNodeLost: { ...onNodeLost, afterSeconds: (onNodeLost.afterSeconds ?? 0) * share },
            },
          }
        : workload;
    }),
  );

const nodes = (change: (node: Node) => Node): ActorShape => readAs(reading<Node>('Node', change));

const attested = (share: number): ActorShape =>
  nodes((node) => {
    const { attestation } = node.status ?? {};
    return attestation === undefined
      ? node
      : {
          ...node,
          status: {
            ...node.status,
            attestation: { ...attestation, forSeconds: attestation.forSeconds * share },
          },
        };
  });

const drained = (share: number): ActorShape =>
  nodes((node) => {
    const { drain } = node.spec;
    return drain?.deadlineSeconds === undefined
      ? node
      : {
          ...node,
          spec: { ...node.spec, drain: { ...drain, deadlineSeconds: drain.deadlineSeconds * share } },
        };
  });

/** Alters the judgement of a node that repair and the detector ask for. The cheaper look at a node stays right. */
const judging = (alter: (judgement: Judgement) => Judgement): ActorShape => ({
  ...rightActors,
  Observer: class extends FreshnessObserver {
    override judge(...asked: Parameters<FreshnessObserver['judge']>): Judgement | undefined {
      const judgement = super.judge(...asked);
      return judgement && alter(judgement);
    }
  },
});

const silentNoLongerThan = (judgement: Judgement, ms: number): Judgement =>
  withSilence(judgement, Math.min(judgement.silentMs, ms), judgement.verdict);

export const wrongDurations: Readonly<Record<WrongDurationName, ActorShape>> = {
  'lease.takeover.short': readAs(
    reading<Lease>('Lease', (lease) => ({
      ...lease,
      spec: { ...lease.spec, durationSeconds: lease.spec.durationSeconds * short },
    })),
  ),
  'hold.expiry.short': holds(short),
  'hold.expiry.never': holds(never),
  'hold.kept.short': { ...rightActors, controllersEnv: fast },
  'stage.bound.short': templates('unreported', 'startDeadlineSeconds', short),
  'stage.bound.never': templates('unreported', 'startDeadlineSeconds', never),
  'stage.starting.short': templates('slow', 'startDeadlineSeconds', short),
  'stage.starting.never': templates('slow', 'startDeadlineSeconds', never),
  'stage.releasing.short': templates('deaf', 'terminationGraceSeconds', short),
  'stage.releasing.never': templates('deaf', 'terminationGraceSeconds', never),
  'stage.lease.never': judging((judgement) => silentNoLongerThan(judgement, judgement.leaseMs - 5_000)),
  'repair.replaceable.short': lostAfter('Replace', short),
  'repair.replaceable.never': lostAfter('Replace', never),
  'repair.human.short': lostAfter('Wait', short),
  'repair.human.never': lostAfter('Wait', never),
  'repair.answer.short': { ...rightActors, controllersEnv: fast },
  // No node ever counts as heard of, so repair asks no agent.
  'repair.answer.never': judging((judgement) => ({
    ...withSilence(judgement, judgement.silentMs, judgement.verdict),
    ageMs: undefined,
  })),
  // Past the lease a silence is counted fast.
  'repair.together.short': judging((judgement) =>
    judgement.silentMs <= judgement.leaseMs
      ? judgement
      : withSilence(judgement, judgement.silentMs / short, judgement.verdict),
  ),
  'window.release.never': judging((judgement) => silentNoLongerThan(judgement, judgement.leaseMs + 60_000)),
  'window.journal.short': { ...rightActors, controllersEnv: fast },
  'window.settle.short': { ...rightActors, controllersEnv: fast },
  'attestation.short': attested(short),
  'attestation.never': attested(never),
  'brake.hold.short': {
    ...rightActors,
    nodes: { brakeRules: { ...usualBrakes, holdMs: usualBrakes.holdMs * short } },
  },
  'brake.linger.short': {
    ...rightActors,
    nodes: { brakeRules: { ...usualBrakes, lingerMs: usualBrakes.lingerMs * short } },
  },
  'brake.slow.short': {
    ...rightActors,
    nodes: {
      repairRates: {
        ...usualRepairRates,
        slowZone: { ...usualRepairRates.slowZone, perSecond: usualRepairRates.slowZone.perSecond / short },
      },
    },
  },
  'drain.deadline.short': drained(short),
  'drain.deadline.never': drained(never),
  'traffic.minReady.short': templates('api', 'minReadySeconds', short),
  'traffic.withdrawal.short': { ...rightActors, streamsEnv: fast },
  'slot.backoff.short': { ...rightActors, controllersEnv: fast },
  'job.grace.short': { ...rightActors, supervisorEnv: fast },
  'job.grace.long': { ...rightActors, supervisorEnv: atRate(1 / long) },
  'job.start.short': { ...rightActors, jobsEnv: fast },
  'job.start.never': { ...rightActors, jobsEnv: atRate(1 / never) },
  // An agent that is told that its epoch is over goes on with it.
  'node.registers.never': { ...rightActors, nodeHears: ({ kind }) => kind !== 'stale' },
  'silence.suspect.short': {
    ...rightActors,
    Observer: class extends FreshnessObserver {
      constructor(parts: ConstructorParameters<typeof FreshnessObserver>[0]) {
        const suspectMsLeast = usualFreshness.suspectMsLeast * short;
        super({ ...parts, rules: { ...usualFreshness, suspectMsLeast } });
      }
    },
  },
  // A node that was late once is never taken for heard of in time again.
  'node.reopens.never': {
    ...rightActors,
    Observer: class extends FreshnessObserver {
      override look(...asked: Parameters<FreshnessObserver['look']>): Look | undefined {
        const look = super.look(...asked);
        return look && { ...look, isHeard: false };
      }
      override judge(...asked: Parameters<FreshnessObserver['judge']>): Judgement | undefined {
        const judgement = super.judge(...asked);
        return (
          judgement && { ...withSilence(judgement, judgement.silentMs, judgement.verdict), isHeard: false }
        );
      }
    },
  },
};
