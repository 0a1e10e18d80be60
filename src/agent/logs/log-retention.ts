import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Env } from '../../env/env.js';
import { wallMs } from '../../env/instant.js';

/** What is kept of one replica. */
export interface KeptLog {
  readonly path: string;
  readonly uid: string;
  readonly bytes: number;
  /** When it was last written to, on this machine's wall clock. */
  readonly changedMs: number;
}

export interface LogLimits {
  readonly ageMsMax: number;
  readonly bytesMax: number;
}

export const logLimitsUsual: LogLimits = { ageMsMax: 7 * 24 * 3_600_000, bytesMax: 10 * 1024 ** 3 };

/**
 * Which logs go: those of replicas that are over and have not been written to for long, then the oldest of these until
 * all together fit. What a replica that is still here writes is bounded by its own files, and stays.
 */
export function logsToRemove(
  logs: readonly KeptLog[],
  isLive: (uid: string) => boolean,
  nowMs: number,
  { ageMsMax, bytesMax }: LogLimits,
): KeptLog[] {
  let bytes = logs.reduce((sum, log) => sum + log.bytes, 0);
  const over = logs.filter(({ uid }) => !isLive(uid)).toSorted((a, b) => a.changedMs - b.changedMs);
  return over.filter((log) => {
    const goes = nowMs - log.changedMs > ageMsMax || bytes > bytesMax;
    if (goes) bytes -= log.bytes;
    return goes;
  });
}

/** Removes old logs of replicas that are over. Called now and then; one call at a time. */
export class LogRetention {
  constructor(
    private readonly parts: {
      readonly dir: string;
      readonly env: Env;
      readonly limits: LogLimits;
      /** Whether the replica is on this node, running or not. */
      readonly isLive: (uid: string) => boolean;
    },
  ) {}

  async sweep(): Promise<number> {
    const { dir, env, limits, isLive } = this.parts;
    const logs: KeptLog[] = [];
    for (const tenant of await names(dir))
      for (const replica of await names(join(dir, tenant))) {
        logs.push(await keptIn(join(dir, tenant, replica), replica));
        await env.yield();
      }
    const old = logsToRemove(logs, isLive, wallMs(env.clock.wall()), limits);
    for (const { path } of old) await rm(path, { recursive: true, force: true });
    return old.length;
  }
}

const names = (dir: string): Promise<string[]> => readdir(dir).catch(() => []);

async function keptIn(path: string, name: string): Promise<KeptLog> {
  let bytes = 0;
  let changedMs = 0;
  for (const file of await names(path)) {
    const found = await stat(join(path, file)).catch(() => undefined);
    bytes += found?.size ?? 0;
    changedMs = Math.max(changedMs, found?.mtimeMs ?? 0);
  }
  return { path, uid: name.slice(name.lastIndexOf('_') + 1), bytes, changedMs };
}
