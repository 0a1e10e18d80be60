import type { MonotonicInstant } from '../env/instant.js';
import { FreshnessObserver } from '../observe/freshness-observer.js';
import {
  type Judgement,
  type Look,
  usualFreshness,
  type Verdict,
  verdictAfter,
} from '../observe/node-freshness.js';
import type { Replica } from '../model/kinds/replica.js';
import type { Workload } from '../model/kinds/workload.js';
import { type ActorShape, rightActors } from './actor-shape.js';
import { type SpareInput, SpareReplicas } from '../reconcile/drain/spare-replicas.js';
import type { Slot } from '../reconcile/workload/slot.js';

export const controllerDefectNames = [
  'silence.fast',
  'silence.inheritedFast',
  'silence.beforeTerm',
  'silence.windowFast',
  'drain.oneTooMany',
  'drain.forgetsOwn',
  'drain.countsLost',
] as const;
export type ControllerDefectName = (typeof controllerDefectNames)[number];

/** Counts some silences of some nodes in another way. */
abstract class WrongObserver extends FreshnessObserver {
  override look(node: string, notBefore?: MonotonicInstant): Look | undefined {
    return this.judge(node, notBefore);
  }

  override judge(node: string, notBefore?: MonotonicInstant): Judgement | undefined {
    const judgement = super.judge(node, notBefore);
    if (judgement === undefined) return undefined;
    const { lateMs, leaseMs } = judgement;
    const silentMs = this.counted(judgement, super.judge(node));
    const verdict = verdictAfter(silentMs, { lateMs, leaseMs, lostMs: usualFreshness.lostAfterMs });
    return withSilence(judgement, silentMs, verdict);
  }

  /** How long a node is said to have been silent. `everMs`: as this process has seen it, in this term or before. */
  protected abstract counted(inTerm: Judgement, ever: Judgement | undefined): number;
}

/** The same judgement of another silence. Written out: a judgement has getters, which a spread would leave behind. */
export const withSilence = (
  { isHeard, ageMs, arrivalsMs, lateMs, leaseMs, leaseRevision }: Judgement,
  silentMs: number,
  verdict: Verdict,
): Judgement => ({ verdict, silentMs, isHeard, ageMs, arrivalsMs, lateMs, leaseMs, leaseRevision });

/** A drain that counts something else than there is. */
const sparing = (altered: (input: SpareInput) => SpareInput): ActorShape => ({
  ...rightActors,
  parts: { spareOf: (input) => new SpareReplicas(altered(input)) },
});

const withLimit = (workload: Workload | undefined, more: number): Workload | undefined =>
  workload && {
    ...workload,
    spec: {
      ...workload.spec,
      disruption: { maxUnavailable: (workload.spec.disruption?.maxUnavailable ?? 1) + more },
    },
  };

const isInherited = ({ ageMs, silentMs }: Judgement): boolean => ageMs === undefined || ageMs > silentMs;

export const controllersWith: Readonly<Record<ControllerDefectName, ActorShape>> = {
  // A leader's count of every silence is 10 % fast.
  'silence.fast': {
    ...rightActors,
    Observer: class extends WrongObserver {
      counted({ silentMs }: Judgement): number {
        return silentMs * 1.1;
      }
    },
  },
  // The same of those that had begun when its term did.
  'silence.inheritedFast': {
    ...rightActors,
    Observer: class extends WrongObserver {
      counted(judgement: Judgement): number {
        return isInherited(judgement) ? judgement.silentMs * 1.1 : judgement.silentMs;
      }
    },
  },
  // Repair alone counts them so, and only past the lease: what was called Unknown in time is released too early.
  'silence.windowFast': {
    ...rightActors,
    Observer: class extends FreshnessObserver {
      override judge(node: string, notBefore?: MonotonicInstant): Judgement | undefined {
        const judgement = super.judge(node, notBefore);
        if (judgement === undefined || !isInherited(judgement)) return judgement;
        const { silentMs, leaseMs } = judgement;
        return silentMs <= leaseMs ? judgement : withSilence(judgement, silentMs * 1.1, judgement.verdict);
      }
    },
  },
  // A leader counts what it saw before its term began.
  'silence.beforeTerm': {
    ...rightActors,
    Observer: class extends WrongObserver {
      counted({ silentMs }: Judgement, ever: Judgement | undefined): number {
        return ever?.silentMs ?? silentMs;
      }
    },
  },
  // One more may be away than its workload says.
  'drain.oneTooMany': sparing((input) => ({ ...input, workload: withLimit(input.workload, 1) })),
  // What it has had evicted itself counts only once its cache shows it.
  'drain.forgetsOwn': sparing((input) => ({ ...input, leavers: { has: () => false, size: 0 } })),
  // Replicas whose node is lost count as if they served.
  'drain.countsLost': sparing((input) => ({ ...input, slots: new Map([...input.slots].map(asIfServing)) })),
};

function asIfServing([name, slot]: readonly [string, Slot]): readonly [string, Slot] {
  const { newest } = slot;
  if (newest.status?.stage !== 'Unknown') return [name, slot];
  const serving: Replica = { ...newest, status: { ...newest.status, stage: 'Serving' } };
  return [
    name,
    { number: slot.number, newest: serving, older: slot.older, facts: (alike) => slot.facts(alike) },
  ];
}
