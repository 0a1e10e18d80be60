import type { Random } from '../../env/random.js';

/** Faults that strike single calls, with the chance of each. */
export const callFaults = [
  'store.unavailable',
  'store.requestLost',
  'store.requestLate',
  'store.replyLost',
  'store.crashBefore',
  'store.crashAfter',
  'watch.cut',
  'watch.lag',
  'network.requestLost',
  'network.replyLost',
  'network.duplicated',
  'wakeUp.dropped',
] as const;
export type CallFault = (typeof callFaults)[number];

/** Faults that strike a server as it is started, with the chance of each: it is wrong about the number of shards. */
export const startFaults = ['shards.mistaken'] as const;
export type StartFault = (typeof startFaults)[number];

/** Faults that strike a process, or the way between two, for a while. */
export const eventFaults = ['crash', 'pause', 'partition', 'storeCut', 'drift'] as const;
export type EventFault = (typeof eventFaults)[number];

/** Faults that scenarios bring about, in a state that they choose: one way between a node and the servers is cut. */
export type DirectedFault = 'oneWay.up' | 'oneWay.down';

/** A part of some cuts from the store: the history that the process missed is compacted before the cut ends. */
export type HistoryFault = 'historyLost';

export type FaultKind = CallFault | StartFault | EventFault | HistoryFault | DirectedFault;

export interface FaultEvent {
  readonly kind: EventFault;
  readonly atMs: number;
  readonly forMs: number;
  /** Which process, by its place among all of the world; a second one for a partition. */
  readonly target: number;
  readonly other: number;
  /** For a cut from the store: all history is compacted before it ends. */
  readonly losesHistory?: boolean;
}

/** All that goes wrong in one run. Data, so that a failing run can be tried again with less of it. */
export interface FaultPlan {
  readonly rates: Readonly<Partial<Record<CallFault | StartFault, number>>>;
  readonly events: readonly FaultEvent[];
}

export const noFaults: FaultPlan = { rates: {}, events: [] };

const usualRates: Readonly<Record<CallFault, number>> = {
  'store.unavailable': 0.01,
  'store.requestLost': 0.01,
  'store.requestLate': 0.01,
  'store.replyLost': 0.02,
  'store.crashBefore': 0.001,
  'store.crashAfter': 0.001,
  'watch.cut': 0.01,
  'watch.lag': 0.02,
  'network.requestLost': 0.02,
  'network.replyLost': 0.03,
  'network.duplicated': 0.03,
  'wakeUp.dropped': 0.1,
};

/**
 * What a seed lets go wrong until `untilMs`. Each run has some kinds of faults and not others, some often and some
 * rarely: a run in which everything fails all the time explores little.
 */
export function planFaults(random: Random, processes: number, untilMs: number): FaultPlan {
  const rates: Partial<Record<CallFault | StartFault, number>> = { 'shards.mistaken': 0.25 };
  for (const kind of callFaults)
    if (random.chance(0.6)) rates[kind] = usualRates[kind] * (0.3 + 3 * random.float());
  const events: FaultEvent[] = [];
  const count = random.integer(8);
  const ofHistory = random.stream('history');
  for (let index = 0; index < count; index++) {
    const kind = random.pick(eventFaults);
    events.push({
      kind,
      atMs: random.integer(untilMs),
      forMs: 500 + random.integer(random.chance(0.3) ? 60_000 : 8_000),
      target: random.integer(processes),
      other: random.integer(processes),
      ...(kind === 'storeCut' && { losesHistory: ofHistory.chance(0.5) }),
    });
  }
  return { rates, events: events.toSorted((a, b) => a.atMs - b.atMs) };
}
