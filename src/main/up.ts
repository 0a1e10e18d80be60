import { join } from 'node:path';
import type { Env } from '../env/env.js';
import type { DecisionLimits } from '../model/decisions.js';
import type { BerthObject } from '../model/object.js';
import { ensureRegions } from './ensure-regions.js';
import { fleetFrom, type FleetSource } from './fleet-source.js';
import type { ListenAddress } from './listen-address.js';
import type { Log } from './log.js';
import type { RepairOptions } from './repair-options.js';
import type { SchedulingOptions } from './run-schedulers.js';
import { type Running, server } from './server.js';

export interface UpOptions extends FleetSource {
  readonly dir: string;
  readonly port: number;
  /** Whether this machine is a node, and what becomes of its jobs at a clean stop. */
  readonly agent: 'None' | 'EndJobs' | 'KeepJobs';
  /** Processes of all tenants run on this machine, also where nothing keeps them apart. */
  readonly allowsSharedUser: boolean;
  readonly version: string;
  readonly historyMs: number;
  readonly eventsTtlMs: number;
  readonly decisionLimits?: DecisionLimits;
  readonly dns?: ListenAddress;
  readonly scheduling: SchedulingOptions | undefined;
  readonly repair?: RepairOptions;
  readonly env: Env;
  readonly log: Log;
}

/** Everything in one process (and the supervisor of this machine's jobs), on an embedded store in one directory. */
export async function up(options: UpOptions): Promise<Running> {
  // Before anything is opened: a file that cannot be used is said at once.
  const fleet = await fleetFrom(options);
  const running = await server({
    ...options,
    store: { kind: 'lmdb', dir: join(options.dir, 'store') },
    listen: { host: '127.0.0.1', port: options.port },
    hosts: [],
    hasJobs: options.agent !== 'None',
  });
  const { streams, objects } = running;
  // What was begun, ended in the other order.
  const closing: (() => void | Promise<void>)[] = [() => running.close()];
  const close = async (): Promise<void> => {
    for (const closeOne of closing.splice(0).toReversed()) await closeOne();
  };
  try {
    if (fleet !== undefined) {
      await ensureRegions(
        {
          has: (name) => Promise.resolve(objects.get('Region', undefined, name) !== undefined),
          create: (region) => objects.create<BerthObject>('Region', undefined, region),
        },
        fleet.regions,
      );
      // Each takes a moment to load, and is not always asked for.
      const { runFleet } = await import('./run-fleet.js');
      const playing = runFleet({ ...options, streams, fleet });
      closing.push(() => playing.close());
    }
    const { agent: jobs } = options;
    if (jobs !== 'None') {
      const [{ runAgent }, { hostNodeName }, { userOfTenants }] = await Promise.all([
        import('./run-agent.js'),
        import('./host-node-name.js'),
        import('./user-of-tenants.js'),
      ]);
      const agent = await runAgent({
        ...{ ...options, streams, dial: running.sessions, metrics: undefined },
        users: userOfTenants({}),
        config: { address: '127.0.0.1' },
        dir: join(options.dir, 'agent'),
        place: { node: hostNodeName(), region: 'local', zone: 'local' },
      });
      closing.push(() => agent.close(jobs));
      await agent.heard;
    }
  } catch (error) {
    await close();
    throw error;
  }
  return { ...running, close };
}
