import { join } from 'node:path';
import type { Env } from '../env/env.js';
import type { DecisionLimits } from '../model/decisions.js';
import type { SchedulingOptions } from './run-schedulers.js';
import { type Running, server } from './server.js';

export interface UpOptions {
  readonly dir: string;
  readonly port: number;
  readonly version: string;
  readonly historyMs: number;
  readonly eventsTtlMs: number;
  readonly decisionLimits?: DecisionLimits;
  readonly scheduling: SchedulingOptions | undefined;
  readonly env: Env;
  readonly onProblem: (line: string) => void;
  readonly onDefect: (error: unknown) => void;
}

/** Everything in one process, on an embedded store in one directory. */
export const up = (options: UpOptions): Promise<Running> =>
  server({
    ...options,
    store: { kind: 'lmdb', dir: join(options.dir, 'store') },
    listen: { host: '127.0.0.1', port: options.port },
    hosts: [],
  });
