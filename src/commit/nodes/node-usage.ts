import { type MonotonicInstant, msBetween } from '../../env/instant.js';
import type { KnownUsage, UsageSample } from '../../model/usage.js';

type Measured = Omit<KnownUsage, 'namespace' | 'name' | 'workload' | 'node' | 'ageSeconds'>;

interface Kept extends Measured {
  readonly measuredMs: number | undefined;
  readonly heardAt: MonotonicInstant;
}

/**
 * What one node has told of the use of its replicas: the last of each, in memory alone. It ends with the node's line;
 * the next one tells it anew.
 */
export class NodeUsage {
  readonly #kept = new Map<string, Kept>();

  get size(): number {
    return this.#kept.size;
  }

  /** Of replicas that are not bound there nothing is kept, whatever the node says: so their number is the bound. */
  note(samples: readonly UsageSample[], heardAt: MonotonicInstant, isBound: (uid: string) => boolean): void {
    for (const sample of samples)
      if (isBound(sample.uid)) this.#kept.set(sample.uid, next(this.#kept.get(sample.uid), sample, heardAt));
  }

  of(uid: string, now: MonotonicInstant): (Measured & Pick<KnownUsage, 'ageSeconds'>) | undefined {
    const kept = this.#kept.get(uid);
    if (kept === undefined) return undefined;
    const { measuredMs: _, heardAt, ...measured } = kept;
    return { ...measured, ageSeconds: Math.round(msBetween(heardAt, now) / 1_000) };
  }

  forget(uid: string): void {
    this.#kept.delete(uid);
  }

  keepOnly(isBound: (uid: string) => boolean): void {
    for (const uid of this.#kept.keys()) if (!isBound(uid)) this.#kept.delete(uid);
  }
}

/** Only what is known of a sample is copied: a node cannot have more of it kept. */
function next(last: Kept | undefined, sample: UsageSample, heardAt: MonotonicInstant): Kept {
  const { restarts, oomKills, running } = sample;
  if (running === undefined) return { restarts, oomKills, measuredMs: undefined, heardAt };
  const { measuredMs, cpuSeconds, memoryBytes } = running;
  const cpuCores = coresBetween(last, sample);
  return {
    ...{ restarts, oomKills, measuredMs, cpuSeconds, memoryBytes, heardAt },
    ...(cpuCores !== undefined && { cpuCores }),
  };
}

/** What was measured once may be told twice: then the rate is what it was. */
function coresBetween(last: Kept | undefined, { restarts, running }: UsageSample): number | undefined {
  if (last?.measuredMs === undefined || last.cpuSeconds === undefined || running === undefined)
    return undefined;
  if (last.restarts !== restarts || running.cpuSeconds < last.cpuSeconds) return undefined;
  const passedMs = running.measuredMs - last.measuredMs;
  if (passedMs === 0) return last.cpuCores;
  return passedMs < 0 ? undefined : ((running.cpuSeconds - last.cpuSeconds) * 1_000) / passedMs;
}
