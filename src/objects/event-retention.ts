import type { Env } from '../env/env.js';
import { type MonotonicInstant, msBetween } from '../env/instant.js';
import { isBerthError } from '../model/errors.js';
import type { KindDefinition } from '../model/kind.js';
import { shownKey } from './keys.js';
import type { CachedObject } from './cached-object.js';
import type { ObjectCache } from './object-cache.js';
import type { ObjectStore } from './object-store.js';

export interface EventLimits {
  /** How long an event is kept after it was last written. */
  readonly ttlMs: number;
  /** How many a cell keeps; past that those go first that were not written for longest. */
  readonly eventsMax: number;
}

export const eventsMaxDefault = 20_000;

const lookEveryMsMin = 1_000;
const lookEveryMsMax = 10_000;
const deletesAtOnce = 64;

/** An event with the time for which it has stood unchanged, as one actor has seen it. */
export interface AgedEvent {
  readonly event: CachedObject;
  readonly ageMs: number;
}

/** Which events are to go: those whose time is over, and of those that are too many the ones written first. */
export function eventsToDelete(events: readonly AgedEvent[], limits: EventLimits): CachedObject[] {
  const expired = events.filter(({ ageMs }) => ageMs >= limits.ttlMs);
  const kept = events.filter(({ ageMs }) => ageMs < limits.ttlMs);
  const excess = Math.max(0, kept.length - limits.eventsMax);
  const oldest = kept.toSorted((a, b) => versionOf(a.event) - versionOf(b.event)).slice(0, excess);
  return [...expired, ...oldest].map(({ event }) => event);
}

const versionOf = ({ object }: CachedObject): number => Number(object.metadata.resourceVersion);

interface Seen {
  readonly version: string;
  readonly since: MonotonicInstant;
}

/**
 * Deletes events that have outlived their time or are too many. Time is counted here, from when this process
 * first saw a version of an event: clocks of two machines are never compared, and what events say of their own
 * time does not matter. After a restart it counts again. Several servers may do this at once.
 */
export class EventRetention {
  // Invariant: holds exactly the events that the last look saw.
  #seen = new Map<string, Seen>();

  constructor(
    private readonly parts: {
      readonly objects: ObjectStore;
      readonly cache: ObjectCache;
      readonly env: Env;
      readonly eventKind: KindDefinition;
      readonly limits: EventLimits;
    },
  ) {}

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { env, limits } = this.parts;
    const everyMs = Math.min(lookEveryMsMax, Math.max(lookEveryMsMin, limits.ttlMs / 10));
    while (!signal.aborted) {
      const due = eventsToDelete(this.#look(), limits);
      for (let from = 0; from < due.length && !signal.aborted; from += deletesAtOnce)
        await Promise.all(due.slice(from, from + deletesAtOnce).map((event) => this.#delete(event)));
      await env.sleep(everyMs, signal).catch(() => undefined);
    }
  }

  #look(): AgedEvent[] {
    const { cache, env, eventKind } = this.parts;
    const now = env.clock.monotonic();
    const seen = new Map<string, Seen>();
    const events: AgedEvent[] = [];
    for (const event of cache.list(eventKind.kind)) {
      const key = shownKey(event.key);
      const version = event.object.metadata.resourceVersion;
      const before = this.#seen.get(key);
      const since = before?.version === version ? before.since : now;
      seen.set(key, { version, since });
      events.push({ event, ageMs: msBetween(since, now) });
    }
    this.#seen = seen;
    return events;
  }

  async #delete({ key, object }: CachedObject): Promise<void> {
    const { uid, resourceVersion } = object.metadata;
    try {
      await this.parts.objects.delete(this.parts.eventKind, key, { preconditions: { uid, resourceVersion } });
    } catch (error) {
      // Gone, written again, or the store is away: the next look decides anew.
      if (!isBerthError(error)) throw error;
    }
  }
}
