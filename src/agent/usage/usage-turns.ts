import { bootMs } from '../../env/instant.js';
import { type UsageSample, usageSamplesMax } from '../../model/usage.js';
import type { ReplicaUsage } from './replica-usage.js';

export interface UsageSource {
  /** The replicas that are here, by uid. */
  uids(): Iterable<string>;
  /** Measured now, where that is cheap. */
  usageOf(uid: string): ReplicaUsage | undefined;
}

/** What goes along with each renewal: replicas take turns, so that a node with many neither measures nor sends more at once. */
export class UsageTurns {
  #waiting: string[] = [];

  constructor(private readonly source: UsageSource) {}

  next(): readonly UsageSample[] {
    if (this.#waiting.length === 0) this.#waiting = [...this.source.uids()];
    return this.#waiting.splice(0, usageSamplesMax).flatMap((uid) => {
      const usage = this.source.usageOf(uid);
      const isKnown = isAmount(usage?.restarts) && isAmount(usage.oomKills);
      return isKnown ? [sampleOf(uid, usage)] : [];
    });
  }
}

function sampleOf(uid: string, { restarts, oomKills, running }: ReplicaUsage): UsageSample {
  const { measuredAt, cpuSeconds, memoryBytes } = running ?? {};
  if (measuredAt === undefined || !isAmount(cpuSeconds) || !isAmount(memoryBytes))
    return { uid, restarts, oomKills };
  return { uid, restarts, oomKills, running: { measuredMs: bootMs(measuredAt), cpuSeconds, memoryBytes } };
}

/** A renewal must not be refused for what a machine or an engine said: what is no amount was not measured. */
const isAmount = (value: number | undefined): value is number =>
  value !== undefined && Number.isFinite(value) && value >= 0;
