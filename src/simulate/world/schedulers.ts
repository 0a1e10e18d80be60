import { builtinPolicy, policyRevision } from '../../model/policy.js';
import type { Authority, Outcome, Proposal, Reserve } from '../../model/ports.js';
import { decisionLimitsDefault } from '../../model/decisions.js';
import { DecisionLog } from '../../objects/decisions/decision-log.js';
import { CachedRecords } from '../../objects/cached-records.js';
import { CellCore } from '../../propose/cell-core.js';
import type { NodeAgeMs } from '../../propose/contract.js';
import { Scheduler } from '../../propose/scheduler.js';
import { shardLease } from '../../propose/shard.js';
import { Leadership } from '../../reconcile/runtime/leadership.js';
import { MemoryStore } from '../../store/memory.js';
import type { Reach } from './server.js';
import type { World } from './world.js';

const mistakenShards = 3;
const lookMs = 1_000;

interface SchedulersOptions {
  readonly holder: string;
  readonly ages: NodeAgeMs;
  readonly signal: AbortSignal;
}

/**
 * The schedulers of a server, one for each shard. While faults go on, a server may believe in another number of shards
 * than the others do: then schedulers overlap, and some work is nobody's, as while somebody changes that number.
 */
export async function runSchedulers(world: World, reach: Reach, options: SchedulersOptions): Promise<void> {
  const { env } = reach.life;
  if (world.faults.strikes('shards.mistaken', env.random)) {
    const stop = new AbortController();
    const { signal } = options;
    signal.addEventListener('abort', () => stop.abort(), { once: true });
    const running = runShards(world, reach, options, mistakenShards, stop.signal);
    while (!world.faults.isStopped && !signal.aborted) await env.sleep(lookMs);
    stop.abort();
    await running;
  }
  await runShards(world, reach, options, world.scheduling.shards, options.signal);
}

async function runShards(
  world: World,
  { life, cache, objects, authority: own }: Reach,
  { holder, ages }: SchedulersOptions,
  shards: number,
  signal: AbortSignal,
): Promise<void> {
  const { env } = life;
  const decisions = await DecisionLog.open({
    store: new MemoryStore(env),
    env,
    server: holder,
    limits: decisionLimitsDefault,
  });
  const records = new CachedRecords(cache);
  const { sweepEveryMs, plugins } = world.scheduling;
  // Its own server's, or that of whichever server it reaches: as if another held the lease of the authority.
  const servers = world.processes.filter(({ name }) => name.startsWith('server-'));
  const reached = env.random.chance(0.5) ? own : world.remoteAuthority(life, servers);
  const authority = noting(world, reached);
  await Promise.all(
    Array.from({ length: shards }, (_, shard) => {
      const lease = shardLease(shard, shards);
      const scheduler = new Scheduler({
        ...{ authority, records, env, decisions, shard, shards, name: holder, server: holder },
        leading: new Leadership({ authority, objects, env, lease, holder }),
        policyRevision: policyRevision(builtinPolicy),
        newCore: () => new CellCore({ policy: builtinPolicy, seed: env.random.uint32(), ages, plugins }),
        shape: world.term,
        ...(sweepEveryMs !== undefined && { sweepEveryMs }),
        // A refusal that should not happen breaks a rule, or none.
        onProblem: () => undefined,
      });
      world.schedulers.push(scheduler);
      return scheduler.run(signal);
    }),
  );
}

/** [L2] What was refused must be tried again: the world remembers it. */
function noting(world: World, authority: Authority): Authority {
  const note = ({ replica }: Proposal, outcome: Outcome<unknown> | undefined): void => {
    if (outcome?.kind === 'Rejected') world.promptBinding.noteRejection(replica.uid, world.time.nowMs);
  };
  const noteBind = (proposal: Proposal, outcome: Outcome<unknown> | undefined): void => {
    note(proposal, outcome);
    if (outcome?.kind === 'Rejected') world.rejectedBinds.set(proposal.replica.uid, proposal.replica);
  };
  return new Proxy(authority, {
    get: (target, name: keyof Authority) => {
      if (name === 'bind')
        return async (proposals: readonly Proposal[]) => {
          const outcomes = await target.bind(proposals);
          for (const [index, proposal] of proposals.entries()) noteBind(proposal, outcomes[index]);
          return outcomes;
        };
      if (name === 'reserve')
        return async (proposal: Reserve) => {
          const outcome = await target.reserve(proposal);
          note(proposal, outcome);
          return outcome;
        };
      const method = target[name];
      return method.bind(target);
    },
  });
}
