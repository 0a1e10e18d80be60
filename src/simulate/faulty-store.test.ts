import { describe, expect, it } from 'vitest';
import type { Env } from '../env/env.js';
import { VirtualTime } from '../env/virtual.js';
import { isBerthError } from '../model/errors.js';
import { type Entry, asRevision, type Revision, type Store } from '../store/contract.js';
import { everyKey, singleKey } from '../store/key-range.js';
import { MemoryStore } from '../store/memory.js';
import { FaultyStore, type StoreFaults } from './faulty-store.js';

const faults: StoreFaults = {
  latencyMsMax: 20,
  timeoutMs: 500,
  unavailable: 0.05,
  requestLost: 0.05,
  requestLate: 0.05,
  replyLost: 0.1,
  watchCut: 0.05,
};
const tasks = 20;
const rounds = 10;

const text = (entry: Entry | undefined): string => Buffer.from(entry?.value ?? '').toString();

async function reading(store: Store, env: Env, key: string): Promise<Entry | undefined> {
  for (;;) {
    try {
      return (await store.read(singleKey(key))).entries[0];
    } catch (error) {
      if (!isBerthError(error, 'StoreUnavailable')) throw error;
      await env.sleep(50);
    }
  }
}

/**
 * One step of a counter that all tasks share. The careful way carries an operation id and reads back after an
 * unknown outcome; the careless way takes a timeout for a failure and simply tries again.
 */
async function increment(store: Store, env: Env, isCareful: boolean): Promise<void> {
  const operation = env.uuid();
  for (;;) {
    const shared = await reading(store, env, '/shared');
    const done = await reading(store, env, `/done/${operation}`);
    if (isCareful && done !== undefined) return;
    try {
      const outcome = await store.transact({
        guards: [
          shared === undefined
            ? { kind: 'absent', key: '/shared' }
            : { kind: 'unchanged', key: '/shared', modRevision: shared.modRevision },
          ...(isCareful ? [{ kind: 'absent', key: `/done/${operation}` } as const] : []),
        ],
        writes: [
          { kind: 'put', key: '/shared', value: Buffer.from(String(Number(text(shared)) + 1)) },
          { kind: 'put', key: `/done/${operation}`, value: Buffer.from('yes') },
        ],
      });
      if (outcome.kind === 'Committed') return;
    } catch (error) {
      if (!isBerthError(error, 'StoreUnavailable')) throw error;
    }
    await env.sleep(env.random.integer(100));
  }
}

async function simulate(
  seed: number,
  isCareful: boolean,
): Promise<{ count: number; seen: number[]; trace: string }> {
  const trace: string[] = [];
  const world = new VirtualTime({ seed, trace: (line) => trace.push(line) });
  const store = new MemoryStore(world.machine('store').env);
  for (let index = 0; index < tasks; index++) {
    const machine = world.machine(`client-${index}`);
    const view = new FaultyStore(store, machine.env, faults);
    world.spawn(machine, `client ${index}`, async (env) => {
      for (let round = 0; round < rounds; round++) await increment(view, env, isCareful);
    });
  }
  const watcher = world.machine('watcher');
  const view = new FaultyStore(store, watcher.env, faults);
  const seen: number[] = [];
  world.spawn(watcher, 'watcher', async () => {
    let after: Revision = asRevision(1);
    while ((seen.at(-1) ?? 0) < tasks * rounds) {
      try {
        for await (const sets of view.watch(singleKey('/shared'), { after })) {
          for (const set of sets) {
            for (const change of set.changes)
              if (change.kind === 'put') seen.push(Number(text(change.entry)));
            after = set.revision;
          }
          if ((seen.at(-1) ?? 0) >= tasks * rounds) break;
        }
      } catch (error) {
        if (!isBerthError(error, 'SlowWatcher')) throw error;
        expect(error.details['resumeAfter']).toBe(after);
      }
    }
  });
  const end = await world.run();
  expect(end.kind).toBe('idle');
  const { entries } = await store.read(everyKey);
  trace.push(entries.map((entry) => `${entry.key} ${text(entry)} ${entry.modRevision}`).join('\n'));
  return { count: Number(text(entries.at(-1))), seen, trace: trace.join('\n') };
}

describe('a store seen through a faulty network', () => {
  it('counts exactly when callers carry an operation id and read back after an unknown outcome, in 20 seeds', async () => {
    for (let seed = 0; seed < 20; seed++) {
      const { count, seen } = await simulate(seed, true);
      expect(count, `seed ${seed}`).toBe(tasks * rounds);
      expect(seen, `seed ${seed}: [S11]`).toEqual(Array.from({ length: count }, (_, index) => index + 1));
    }
  });

  it('counts wrongly when callers take a timeout for a failure: the faults bite', async () => {
    const { count } = await simulate(1, false);
    expect(count).toBeGreaterThan(tasks * rounds);
  });

  it('gives one history for one seed', async () => {
    const first = await simulate(7, true);
    expect((await simulate(7, true)).trace).toBe(first.trace);
    expect((await simulate(8, true)).trace).not.toBe(first.trace);
  });
});
