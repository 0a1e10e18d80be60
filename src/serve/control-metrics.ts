import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** What one controller tells of itself. Counts only grow. */
export interface ControllerCounts {
  readonly depth: number;
  readonly waiting: number;
  readonly oldestReadyMs: number;
  readonly runs: number;
  readonly errors: number;
  readonly retries: number;
  readonly resyncs: number;
}

/** Where an operation of the authority was done: here for this server, here for another one, or by another one. */
export type Route = 'local' | 'received' | 'forwarded';

const memberCounts = [1, 2, 4, 8, 16, 32, 64, 128];

/** The part of /metrics that is about controllers and the authority. */
export class ControlMetrics {
  readonly #members: Histogram;
  readonly #operations: Counter;

  constructor(private readonly registry: Registry) {
    this.#members = new Histogram({
      name: 'berth_authority_transaction_operations',
      help: 'How many operations shared a transaction of the authority, by outcome: Committed, GuardFailed, UnknownOutcome, Refused.',
      labelNames: ['outcome'],
      buckets: memberCounts,
      registers: [registry],
    });
    this.#operations = new Counter({
      name: 'berth_authority_operations_total',
      help: 'Operations of the authority, by outcome and by where they were done: local, received from another server, forwarded to another.',
      labelNames: ['route', 'outcome'],
      registers: [registry],
    });
  }

  transaction(members: number, outcome: string): void {
    this.#members.observe({ outcome }, members);
  }

  operation(route: Route, outcome: string): void {
    this.#operations.inc({ route, outcome });
  }

  /** Once, when there are controllers to be looked at. */
  watch(counts: () => Readonly<Record<string, ControllerCounts>>): void {
    const gauge = (name: string, help: string, valueOf: (counts: ControllerCounts) => number): void => {
      const metric: Gauge = new Gauge({
        ...{ name, help, labelNames: ['controller'], registers: [this.registry] },
        collect: () => {
          for (const [controller, each] of Object.entries(counts()))
            metric.set({ controller }, valueOf(each));
        },
      });
    };
    const counter = (name: string, help: string, valueOf: (counts: ControllerCounts) => number): void => {
      const metric: Counter = new Counter({
        ...{ name, help, labelNames: ['controller'], registers: [this.registry] },
        collect: () => {
          metric.reset();
          for (const [controller, each] of Object.entries(counts()))
            metric.inc({ controller }, valueOf(each));
        },
      });
    };
    gauge('berth_controller_depth', 'Keys that are ready to be looked at.', ({ depth }) => depth);
    gauge(
      'berth_controller_waiting',
      'Keys that wait for their time: backoffs and deadlines.',
      ({ waiting }) => waiting,
    );
    gauge(
      'berth_controller_oldest_ready_seconds',
      'How long the key that has been ready longest has been so.',
      ({ oldestReadyMs }) => oldestReadyMs / 1_000,
    );
    counter('berth_controller_runs_total', 'Keys looked at.', ({ runs }) => runs);
    counter('berth_controller_errors_total', 'Looks that ended with an error.', ({ errors }) => errors);
    counter('berth_controller_retries_total', 'Looks that are to be tried again.', ({ retries }) => retries);
    counter('berth_controller_resyncs_total', 'Times that all keys were listed.', ({ resyncs }) => resyncs);
  }
}
