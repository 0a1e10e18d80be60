import { join } from 'node:path';
import type { Env } from '../env/env.js';
import type { DecisionLimits } from '../model/decisions.js';
import type { SchedulingOptions } from './run-schedulers.js';
import type { BerthObject } from '../model/object.js';
import { ensureRegions } from './ensure-regions.js';
import { fleetFrom, type FleetSource } from './fleet-source.js';
import type { ListenAddress } from './listen-address.js';
import { type Running, server } from './server.js';

export interface UpOptions extends FleetSource {
  readonly dir: string;
  readonly port: number;
  readonly version: string;
  readonly historyMs: number;
  readonly eventsTtlMs: number;
  readonly decisionLimits?: DecisionLimits;
  readonly dns?: ListenAddress;
  readonly scheduling: SchedulingOptions | undefined;
  readonly env: Env;
  readonly onProblem: (line: string) => void;
  readonly onDefect: (error: unknown) => void;
}

/** Everything in one process, on an embedded store in one directory. */
export async function up(options: UpOptions): Promise<Running> {
  // Before anything is opened: a file that cannot be used is said at once.
  const fleet = await fleetFrom(options);
  const running = await server({
    ...options,
    store: { kind: 'lmdb', dir: join(options.dir, 'store') },
    listen: { host: '127.0.0.1', port: options.port },
    hosts: [],
  });
  if (fleet === undefined) return running;
  const { streams, objects } = running;
  try {
    await ensureRegions(
      {
        has: (name) => Promise.resolve(objects.get('Region', undefined, name) !== undefined),
        create: (region) => objects.create<BerthObject>('Region', undefined, region),
      },
      fleet.regions,
    );
  } catch (error) {
    await running.close();
    throw error;
  }
  const { runFleet } = await import('./run-fleet.js');
  const playing = runFleet({ ...options, streams, fleet });
  return {
    ...running,
    close: async () => {
      playing.close();
      await running.close();
    },
  };
}
