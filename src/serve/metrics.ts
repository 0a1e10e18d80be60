import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { ControlMetrics } from './control-metrics.js';
import { SchedulerMetrics } from './scheduler-metrics.js';

/** What is looked at when somebody asks for the metrics, instead of being counted all the time. */
export interface Watched {
  /** Kinds there are; no label has a value that is not among them, or `other`. */
  readonly kinds: readonly string[];
  cacheRevision(): number;
  objects(kind: string): number;
  watchers(): {
    readonly open: number;
    readonly waitingChangesMax: number;
    readonly revisionsBehindMax: number;
  };
  audit(): { readonly written: number; readonly waiting: number; readonly lost: number };
}

/** What the HTTP server knows of itself. */
export interface Traffic {
  readonly requestsInFlight: number;
  readonly watchesOpen: number;
  readonly unsentBytesMax: number;
}

export interface RequestLabels {
  readonly verb: string;
  /** Undefined for what is about no kind, or about one that is not there. */
  readonly kind: string | undefined;
}

const otherKind = 'other';
const requestSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const transactionSeconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const batchSizes = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 2_048];
const loopDelayResolutionMs = 20;

/** What node streams bring. But for the first and the last, counts since the start. */
export interface NodeTraffic {
  readonly lines: number;
  readonly renewals: number;
  readonly reports: number;
  readonly stale: number;
  readonly connections: number;
}

/** Everything that /metrics tells, in Prometheus' text form. docs/metrics.md lists it. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #requests = new Counter({
    name: 'berth_requests_total',
    help: 'Requests answered, by verb, kind and HTTP status. A watch counts when it ends.',
    labelNames: ['verb', 'kind', 'code'],
    registers: [this.#registry],
  });
  readonly #requestSeconds = new Histogram({
    name: 'berth_request_duration_seconds',
    help: 'How long requests took, by verb and kind, watches apart.',
    labelNames: ['verb', 'kind'],
    buckets: requestSeconds,
    registers: [this.#registry],
  });
  readonly #transactionSeconds = new Histogram({
    name: 'berth_store_transaction_duration_seconds',
    help: 'How long transactions of the store took, by outcome: Committed, GuardFailed, UnknownOutcome, Refused.',
    labelNames: ['outcome'],
    buckets: transactionSeconds,
    registers: [this.#registry],
  });
  readonly #batchTransactions = new Histogram({
    name: 'berth_store_batch_transactions',
    help: 'How many transactions shared one flush of the embedded store. etcd batches by itself: nothing is told here.',
    buckets: batchSizes,
    registers: [this.#registry],
  });

  /** What is about controllers and the authority. */
  readonly control = new ControlMetrics(this.#registry);
  readonly scheduler = new SchedulerMetrics(this.#registry);

  constructor() {
    collectDefaultMetrics({
      register: this.#registry,
      prefix: 'berth_',
      eventLoopMonitoringPrecision: loopDelayResolutionMs,
    });
  }

  readonly contentType = this.#registry.contentType;

  text(): Promise<string> {
    return this.#registry.metrics();
  }

  request({ verb, kind = otherKind }: RequestLabels, code: number, durationMs: number): void {
    this.#requests.inc({ verb, kind, code });
    if (verb !== 'watch') this.#requestSeconds.observe({ verb, kind }, durationMs / 1000);
  }

  transaction(outcome: string, durationMs: number): void {
    this.#transactionSeconds.observe({ outcome }, durationMs / 1000);
  }

  batch(transactions: number): void {
    this.#batchTransactions.observe(transactions);
  }

  watchReadiness(isReady: () => boolean): void {
    this.#gauge(
      'berth_ready',
      '1 while this server is up to date with the store, as /readyz tells; else 0.',
      () => (isReady() ? 1 : 0),
    );
  }

  /** Once, when the parts are there that can be looked at. */
  watch(watched: Watched): void {
    this.#gauge('berth_cache_revision', 'The store revision that the cache shows.', () =>
      watched.cacheRevision(),
    );
    const objects = new Gauge({
      name: 'berth_objects',
      help: 'Objects, by kind.',
      labelNames: ['kind'],
      registers: [this.#registry],
      collect: () => {
        for (const kind of watched.kinds) objects.set({ kind }, watched.objects(kind));
      },
    });
    this.#gauge(
      'berth_cache_watchers',
      'Watchers of the cache: clients, and the parts of the server that follow changes.',
      () => watched.watchers().open,
    );
    this.#gauge(
      'berth_cache_watch_waiting_changes',
      'Changes that wait for the slowest watcher of the cache.',
      () => watched.watchers().waitingChangesMax,
    );
    this.#gauge(
      'berth_cache_watch_lag_revisions',
      'How many revisions the slowest watcher of the cache is behind.',
      () => watched.watchers().revisionsBehindMax,
    );
    this.#gauge(
      'berth_audit_lines',
      'Lines written to the audit log since the start.',
      () => watched.audit().written,
    );
    this.#gauge(
      'berth_audit_waiting_lines',
      'Lines that wait for the disk of the audit log.',
      () => watched.audit().waiting,
    );
    this.#gauge(
      'berth_audit_lost_lines',
      'Lines that the audit log has lost since the start.',
      () => watched.audit().lost,
    );
  }

  watchDecisions(
    counters: () => { readonly kept: number; readonly bytes: number; readonly dropped: number },
  ): void {
    this.#gauge('berth_decisions', 'Decisions that this server keeps.', () => counters().kept);
    this.#gauge('berth_decisions_bytes', 'Bytes that they take.', () => counters().bytes);
    this.#gauge(
      'berth_decisions_dropped',
      'Decisions that could not be kept since the start.',
      () => counters().dropped,
    );
  }

  watchTraffic(traffic: () => Traffic): void {
    this.#gauge(
      'berth_requests_in_flight',
      'Requests under way, watches apart.',
      () => traffic().requestsInFlight,
    );
    this.#gauge('berth_watches', 'Watches that clients have open.', () => traffic().watchesOpen);
    this.#gauge(
      'berth_watch_unsent_bytes',
      'Bytes that wait for the client that reads its watch slowest.',
      () => traffic().unsentBytesMax,
    );
  }

  watchNodes(nodes: () => NodeTraffic): void {
    this.#gauge('berth_node_streams', 'Node streams that are open.', () => nodes().lines);
    this.#gauge(
      'berth_node_connections',
      'Connections that carry node streams of other processes.',
      () => nodes().connections,
    );
    this.#gauge('berth_node_renewals', 'Renewals of node leases since the start.', () => nodes().renewals);
    this.#gauge('berth_node_reports', 'Reports that nodes have sent since the start.', () => nodes().reports);
    this.#gauge(
      'berth_node_stale',
      'Node streams that were ended since the start because their epoch was over.',
      () => nodes().stale,
    );
  }

  #gauge(name: string, help: string, look: () => number): void {
    const gauge: Gauge = new Gauge({
      name,
      help,
      registers: [this.#registry],
      collect: () => gauge.set(look()),
    });
  }
}
