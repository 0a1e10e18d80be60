import { authorityLease } from '../commit/forwarding-authority.js';
import type { Env } from '../env/env.js';
import { fenceIn } from '../model/fence-problem.js';
import type { Authority, Objects } from '../model/ports.js';
import { FreshnessObserver } from '../observe/freshness-observer.js';
import { Controllers } from '../reconcile/controllers.js';
import { Leadership } from '../reconcile/runtime/leadership.js';
import type { ControlMetrics } from '../serve/control-metrics.js';
import { CachedRecords } from '../objects/cached-records.js';
import { boundedLog } from './bounded-log.js';
import type { ControlPlane } from './control-plane.js';
import { errorEvent, type Log, problemEvent } from './log.js';
import { logLeaders } from './log-leaders.js';
import { type RepairOptions, repairRulesOf } from './repair-options.js';

export interface RunControllersParts {
  readonly controlPlane: ControlPlane;
  readonly objects: Objects;
  readonly authority: Authority;
  readonly env: Env;
  /** Names this process and no other. */
  readonly holder: string;
  /** Where other servers reach this one, if they can. */
  readonly address: string | undefined;
  /** No other process can reach the store. */
  readonly isAlone: boolean;
  readonly repair?: RepairOptions;
  readonly metrics: ControlMetrics;
  readonly log: Log;
}

// Nobody waits for the end of a lease where nobody else can take it: seldom renewed, an idle cell stays quiet.
export const leaseSecondsAlone = 60;

/**
 * Runs all controllers of a server, and holds the lease of the authority when it can, until it is closed: that
 * finishes what is under way and gives the leases up.
 */
export function runControllers(parts: RunControllersParts): {
  /** How long ago a node was heard of; undefined: not since this process listens. */
  readonly ageMs: (node: string) => number | undefined;
  readonly close: () => Promise<void>;
} {
  const { controlPlane, objects, authority, env, holder, address, isAlone } = parts;
  const log = boundedLog(parts.log, env);
  const stop = new AbortController();
  const freshness = new FreshnessObserver({ objects, env });
  freshness.start(stop.signal);
  const controllers = new Controllers({
    ...{ authority, env, holder, isAlone, objects },
    nodes: {
      freshness,
      fence: () => fenceIn(new CachedRecords(controlPlane.cache)),
      ...repairRulesOf(parts.repair ?? {}),
    },
    report: (problem) => {
      // While the server stops, what is cut off is no problem of anybody's.
      if (!stop.signal.aborted) log(problemEvent(problem));
    },
    ...(address !== undefined && { address }),
    ...(isAlone && { leaseSeconds: leaseSecondsAlone }),
  });
  // Alone, this server leads everything from its start to its end.
  logLeaders({ objects, holder, log: parts.log, level: isAlone ? 'debug' : 'info' }, stop.signal);
  parts.metrics.watch(() => controllers.counters);
  const leadership = new Leadership({
    ...{ authority: controlPlane.authority, objects, env, lease: authorityLease, holder, isAlone },
    ...(address !== undefined && { address }),
    ...(isAlone && { durationSeconds: leaseSecondsAlone }),
  });
  const running = Promise.all([
    controllers.run(stop.signal),
    // Nothing is to be done with it but to hold it: the others send their operations here.
    leadership.run(({ signal }) => aborted(signal), stop.signal),
  ]).catch((error: unknown) => parts.log(errorEvent('controllers', error)));
  return {
    ageMs: (node) => freshness.ageMs(node),
    close: async () => {
      stop.abort();
      await running;
    },
  };
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
    if (signal.aborted) resolve();
  });
