import type { Env } from '../env/env.js';
import type { Decisions } from '../model/decisions.js';
import { builtinPolicy, policyRevision } from '../model/policy.js';
import type { Authority } from '../model/ports.js';
import { CachedObjects } from '../objects/cached-objects.js';
import { CachedRecords } from '../objects/cached-records.js';
import { CellCore } from '../propose/cell-core.js';
import type { NodeAgeMs } from '../propose/contract.js';
import type { Batching } from '../propose/outbox.js';
import { Scheduler } from '../propose/scheduler.js';
import { shardLease } from '../propose/shard.js';
import { Leadership } from '../reconcile/runtime/leadership.js';
import type { SchedulerMetrics } from '../serve/scheduler-metrics.js';
import { boundedLog } from './bounded-log.js';
import type { ControlPlane } from './control-plane.js';
import { errorEvent, type Log } from './log.js';
import { loadPlugin } from './load-plugin.js';

/** How a server schedules. */
export interface SchedulingOptions {
  /** Into how many parts the workloads of the cell are divided, each with a scheduler: the same on every server. */
  readonly shards: number;
  /** Modules of custom filters and scores. */
  readonly plugins: readonly string[];
}

export interface RunSchedulersParts extends SchedulingOptions {
  readonly controlPlane: ControlPlane;
  readonly authority: Authority;
  readonly decisions: Decisions;
  readonly ages: NodeAgeMs;
  readonly env: Env;
  readonly holder: string;
  readonly address: string | undefined;
  readonly isAlone: boolean;
  readonly leaseSeconds: number;
  readonly metrics: SchedulerMetrics;
  readonly log: Log;
}

// An etcd has a round trip for each transaction: the more proposals share one, the better.
const batchingShared: Batching = { proposalsPerBatch: 512, batchesMax: 4 };

/** Runs a scheduler for every shard, each whenever it holds the lease of its shard, until it is closed. */
export async function runSchedulers(parts: RunSchedulersParts): Promise<{ close(): Promise<void> }> {
  const { controlPlane, authority, decisions, ages, env, holder, address, isAlone, shards } = parts;
  const plugins = await Promise.all(parts.plugins.map(loadPlugin));
  const log = boundedLog(parts.log, env);
  const objects = new CachedObjects({ ...controlPlane, manager: 'berth-scheduler' });
  const records = new CachedRecords(controlPlane.cache);
  const stop = new AbortController();
  const schedulers = Array.from({ length: shards }, (_, shard) => {
    const lease = shardLease(shard, shards);
    const leading = new Leadership({
      ...{ authority, objects, env, lease, holder, isAlone, durationSeconds: parts.leaseSeconds },
      ...(address !== undefined && { address }),
    });
    return new Scheduler({
      ...{
        authority,
        records,
        env,
        decisions,
        leading,
        shard,
        shards,
        name: holder,
        server: address ?? holder,
      },
      policyRevision: policyRevision(builtinPolicy),
      ...(!isAlone && { batching: batchingShared }),
      newCore: () => new CellCore({ policy: builtinPolicy, seed: env.random.uint32(), ages, plugins }),
      onProblem: (message) => log({ level: 'warn', component: lease, message }),
    });
  });
  parts.metrics.watch(() => schedulers);
  const running = Promise.all(schedulers.map((scheduler) => scheduler.run(stop.signal))).catch(
    (error: unknown) => parts.log(errorEvent('scheduler', error)),
  );
  return {
    close: async () => {
      stop.abort();
      await running;
    },
  };
}
