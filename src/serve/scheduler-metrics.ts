import { Counter, Gauge, type Registry } from 'prom-client';

/** What one scheduler tells of itself. */
export interface SchedulerFigures {
  readonly counters: {
    readonly decisions: number;
    readonly placements: number;
    readonly outcomes: ReadonlyMap<string, number>;
    /** Of the longest since this was last asked. */
    takeStretchMsMax(): number;
  };
  /** While it leads. */
  readonly term:
    | {
        readonly queue: {
          counts(): ReadonlyMap<number, Readonly<Record<'active' | 'parked' | 'elsewhere', number>>>;
          readonly backingOff: number;
        };
        readonly held: number;
        readonly underWay: number;
        readonly snapshotAgeMs: number;
      }
    | undefined;
}

type Figures = Iterable<SchedulerFigures>;

/** The part of /metrics that is about the scheduler, all shards of this server together. */
export class SchedulerMetrics {
  #figures: () => Figures = () => [];

  constructor(private readonly registry: Registry) {
    this.#gauge(
      'berth_scheduler_queue',
      'Replicas that wait to be placed, by priority and state: active, parked (until a change could cure what rejected them), elsewhere (proposed, or backing off).',
      ['priority', 'state'],
      (set) => {
        const sums = new Map<string, { labels: Record<string, string>; count: number }>();
        for (const { term } of this.#figures())
          for (const [band, counts] of term?.queue.counts() ?? [])
            for (const [state, count] of Object.entries(counts)) {
              const labels = { priority: String(band), state };
              const key = `${band} ${state}`;
              sums.set(key, { labels, count: (sums.get(key)?.count ?? 0) + count });
            }
        for (const { labels, count } of sums.values()) set(labels, count);
      },
    );
    this.#sum(
      'berth_scheduler_backing_off',
      'Replicas that are tried again after a while.',
      (term) => term.queue.backingOff,
    );
    this.#sum(
      'berth_scheduler_held',
      'Replicas for which capacity is held and that are not bound yet.',
      (term) => term.held,
    );
    this.#sum(
      'berth_scheduler_under_way',
      'Proposals whose outcome is not known yet.',
      (term) => term.underWay,
    );
    this.#gauge(
      'berth_scheduler_snapshot_age_seconds',
      'How long ago the picture of the cell last changed, of the scheduler for which that is longest.',
      [],
      (set) => {
        const ages = [...this.#figures()].map(({ term }) => term?.snapshotAgeMs ?? 0);
        set({}, Math.max(0, ...ages) / 1_000);
      },
    );
    this.#gauge(
      'berth_scheduler_stretch_seconds',
      'The longest time without a break that a scheduler has worked since the last scrape.',
      [],
      (set) => {
        const stretches = [...this.#figures()].map(({ counters }) => counters.takeStretchMsMax());
        set({}, Math.max(0, ...stretches) / 1_000);
      },
    );
    this.#count('berth_scheduler_decisions_total', 'Turns of a class that were decided.', [], (add) => {
      for (const { counters } of this.#figures()) add({}, counters.decisions);
    });
    this.#count('berth_scheduler_placements_total', 'Replicas for which a node was proposed.', [], (add) => {
      for (const { counters } of this.#figures()) add({}, counters.placements);
    });
    this.#count(
      'berth_scheduler_outcomes_total',
      'Answers of the authority to proposals, by outcome: Committed, AlreadyCommitted, UnknownOutcome, or the reason of the rejection.',
      ['outcome'],
      (add) => {
        for (const { counters } of this.#figures())
          for (const [outcome, count] of counters.outcomes) add({ outcome }, count);
      },
    );
  }

  /** Once, when there are schedulers to be looked at. */
  watch(figures: () => Figures): void {
    this.#figures = figures;
  }

  #sum(name: string, help: string, valueOf: (term: NonNullable<SchedulerFigures['term']>) => number): void {
    this.#gauge(name, help, [], (set) => {
      let sum = 0;
      for (const { term } of this.#figures()) sum += term === undefined ? 0 : valueOf(term);
      set({}, sum);
    });
  }

  #gauge(
    name: string,
    help: string,
    labelNames: string[],
    collect: (set: (labels: Record<string, string>, value: number) => void) => void,
  ): void {
    const metric: Gauge = new Gauge({
      ...{ name, help, labelNames, registers: [this.registry] },
      collect: () => {
        metric.reset();
        collect((labels, value) => metric.set(labels, value));
      },
    });
  }

  #count(
    name: string,
    help: string,
    labelNames: string[],
    collect: (add: (labels: Record<string, string>, value: number) => void) => void,
  ): void {
    const metric: Counter = new Counter({
      ...{ name, help, labelNames, registers: [this.registry] },
      collect: () => {
        metric.reset();
        collect((labels, value) => metric.inc(labels, value));
      },
    });
  }
}
