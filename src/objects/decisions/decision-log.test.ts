import { describe, expect, it } from 'vitest';
import { scratchDirectory } from '../../../testing/scratch.js';
import type { Env } from '../../env/env.js';
import { realEnv } from '../../env/real.js';
import { VirtualTime } from '../../env/virtual.js';
import { type DecisionLimits, decisionLimitsDefault, type DecisionQuery } from '../../model/decisions.js';
import { BerthError } from '../../model/errors.js';
import type { Store } from '../../store/contract.js';
import { keysUnder } from '../../store/key-range.js';
import { LmdbStore } from '../../store/lmdb.js';
import { MemoryStore } from '../../store/memory.js';
import { decided } from './decision.fixture.js';
import { DecisionLog } from './decision-log.js';
import { decisionName, positionOf } from './decision-name.js';
import { keyAt } from './decision-record.js';

const listed = async (log: DecisionLog, query: Partial<DecisionQuery> = {}): Promise<string[]> =>
  (await log.list({ limit: 100, ...query })).items.map(({ spec }) => spec.workload);

describe.each(['memory', 'lmdb'] as const)('the log of decisions in %s', (backend) => {
  /** Opens a log; `again` closes it, which writes what waits, and opens it on what it left. */
  const during = async (
    story: (log: DecisionLog, again: () => Promise<DecisionLog>) => Promise<void>,
  ): Promise<void> => {
    const env = realEnv();
    const scratch = scratchDirectory('decisions');
    const openStore = (): Promise<Store> =>
      backend === 'memory'
        ? Promise.resolve(new MemoryStore(env))
        : LmdbStore.open({ dir: scratch.path, env });
    let store = await openStore();
    const open = (): Promise<DecisionLog> =>
      DecisionLog.open({ store, env, server: 'alpha', limits: decisionLimitsDefault });
    let log = await open();
    try {
      await story(log, async () => {
        await log.close();
        if (backend === 'lmdb') {
          await store.close();
          store = await openStore();
        }
        log = await open();
        return log;
      });
    } finally {
      await log.close();
      await store.close();
      scratch.remove();
    }
  };

  it('gives a decision back at once and after it was written', () =>
    during(async (log, again) => {
      const name = log.newName();
      log.append(decided(name, 'score', ['n1']));
      const before = await log.get('fraud', name);
      expect(before).toMatchObject({
        kind: 'Decision',
        metadata: { name, namespace: 'fraud', creationTimestamp: '2026-01-31T13:05:00Z' },
        spec: { workload: 'score', result: 'Placed' },
      });
      expect(await (await again()).get('fraud', name)).toEqual(before);
    }));

  it('gives back what it was made from and each choice, with what only some of them have', () =>
    during(async (log, again) => {
      const name = log.newName();
      const { spec, ...about } = decided(name, 'score', ['n1', 'n2']);
      const [one, other] = spec.choices ?? [];
      const replicas = [
        { tenant: 'fraud', name: one?.replica, uid: one?.uid, slot: '0', sinceMs: 1 },
        { tenant: 'fraud', name: other?.replica, uid: other?.uid, slot: '1', sinceMs: 2, gang: 'score' },
      ];
      const choices = [one, { ...other, outcome: 'Rejected', reason: 'NodeFull' }] as typeof spec.choices;
      const whole = { ...about, spec: { ...spec, choices, inputs: { form: 1, replicas, seed: 7 } } };
      log.append(whole as typeof about & { spec: typeof spec });
      const next = await again();
      expect((await next.get('fraud', name))?.spec).toEqual(whole.spec);
      expect(await listed(next, { node: 'n2', replica: 'score-0-1' })).toEqual(['score']);
    }));

  it('does not give it to another tenant', () =>
    during(async (log) => {
      const name = log.newName();
      log.append(decided(name, 'score'));
      expect(await log.get('billing', name)).toBeUndefined();
      expect(await listed(log, { tenant: 'billing' })).toEqual([]);
    }));

  it('lists by tenant, workload, replica and chosen node, newest first, written or not', () =>
    during(async (first, again) => {
      const fill = (log: DecisionLog, mark: string): void => {
        log.append(decided(log.newName(), `score-${mark}`, ['n1', 'n2']));
        log.append(decided(log.newName(), 'train', ['n2']));
        log.append(decided(log.newName(), 'train', [], {}, 'billing'));
      };
      fill(first, 'a');
      const log = await again();
      fill(log, 'b');
      expect(await listed(log)).toEqual(['train', 'train', 'score-b', 'train', 'train', 'score-a']);
      expect(await listed(log, { tenant: 'fraud' })).toEqual(['train', 'score-b', 'train', 'score-a']);
      expect(await listed(log, { tenant: 'fraud', workload: 'train' })).toEqual(['train', 'train']);
      expect(await listed(log, { tenant: 'fraud', replica: 'score-a-1-1' })).toEqual(['score-a']);
      expect(await listed(log, { tenant: 'fraud', workload: 'score-a', replica: 'score-a-9-1' })).toEqual([]);
      expect(await listed(log, { node: 'n1' })).toEqual(['score-b', 'score-a']);
    }));

  it('goes on where a page ended, with no decision twice or left out, however many come meanwhile', () =>
    during(async (first, again) => {
      for (let count = 0; count < 250; count += 1) first.append(decided(first.newName(), `w${count}`));
      const log = await again();
      const seen: string[] = [];
      let token: string | undefined;
      do {
        const page = await log.list({ limit: 40, ...(token !== undefined && { continue: token }) });
        if (token === undefined) expect(page.remaining).toBe(210);
        seen.push(...page.items.map(({ spec }) => spec.workload));
        token = page.continue;
        log.append(decided(log.newName(), 'later'));
      } while (token !== undefined);
      expect(seen).toEqual(Array.from({ length: 250 }, (_, index) => `w${249 - index}`));
    }));

  it('never gives a name twice, also after a restart', () =>
    during(async (log, again) => {
      const names = Array.from({ length: 3_000 }, () => log.newName());
      log.append(decided(names.at(-1) ?? '', 'score'));
      names.push((await again()).newName());
      expect(names.toSorted()).toEqual(names);
      expect(new Set(names).size).toBe(names.length);
    }));

  it('keeps a decision that is too large without its inputs, and says so', () =>
    during(async (log, again) => {
      const [large, huge] = [log.newName(), log.newName()];
      log.append(decided(large, 'score', ['n1'], { inputs: { long: 'x'.repeat(1_200_000) } }));
      log.append(
        decided(
          huge,
          'score',
          Array.from({ length: 50_000 }, (_, index) => `n${index}`),
        ),
      );
      const next = await again();
      const spec = (await next.get('fraud', large))?.spec;
      expect(spec).toMatchObject({ choices: [{ node: 'n1' }] });
      expect(spec?.inputs).toBeUndefined();
      expect(spec?.omitted).toMatch(/^inputs: the decision would have taken 12\d{5} bytes$/);
      expect((await next.get('fraud', huge))?.spec.omitted).toMatch(/^inputs and all but \d+ choices/);
    }));

  it('refuses a continue token that it did not give out', () =>
    during(async (log) => {
      await expect(log.list({ limit: 1, continue: 'nonsense' })).rejects.toThrow('list from the start');
    }));
});

describe('what the log of decisions keeps', () => {
  const during = async (
    limits: Partial<DecisionLimits>,
    story: (log: DecisionLog, env: Env, store: Store, problems: string[]) => Promise<void>,
    wrap: (store: Store) => Store = (store) => store,
  ): Promise<void> => {
    const world = new VirtualTime({ seed: 1 });
    const machine = world.machine('server');
    let failure: unknown = new Error('the story did not end');
    world.spawn(machine, 'server', async () => {
      const store = wrap(new MemoryStore(machine.env));
      const problems: string[] = [];
      const log = await DecisionLog.open({
        ...{ store, env: machine.env, server: 'alpha' },
        limits: { ...decisionLimitsDefault, ...limits },
        onProblem: (line) => problems.push(line),
      });
      failure = await story(log, machine.env, store, problems).catch((error: unknown) => error);
      await log.close();
    });
    expect((await world.run()).kind).toBe('idle');
    if (failure !== undefined) throw failure as Error;
  };

  it('is not older than its limit', () =>
    during({ ageMsMax: 60_000 }, async (log, env, store) => {
      log.append(decided(log.newName(), 'old'));
      await env.sleep(45_000);
      log.append(decided(log.newName(), 'new'));
      expect(await listed(log)).toEqual(['new', 'old']);
      await env.sleep(30_000);
      expect(await listed(log)).toEqual(['new']);
      await env.sleep(60_000);
      expect(log.counters).toEqual({ kept: 0, bytes: 0, dropped: 0 });
      expect((await store.read(keysUnder('/'))).entries).toEqual([]);
    }));

  it('is not larger than its limit: the oldest go', () =>
    during({ bytesMax: 10_000 }, async (log, env) => {
      for (let count = 0; count < 10; count += 1)
        log.append(decided(log.newName(), `w${count}`, [], { inputs: { long: 'x'.repeat(2_000) } }));
      await env.sleep(20_000);
      expect(await listed(log)).toEqual(['w9', 'w8', 'w7', 'w6']);
      expect(log.counters.bytes).toBeLessThanOrEqual(10_000);
    }));

  it('is bounded while it waits to be written: those that wait longest are dropped and counted', () =>
    during({}, async (log) => {
      for (let count = 0; count < 2_010; count += 1) log.append(decided(log.newName(), `w${count}`));
      expect(log.counters.dropped).toBe(10);
      expect(await listed(log, { limit: 1 })).toEqual(['w2009']);
      expect((await log.list({ limit: 3_000 })).items.at(-1)?.spec.workload).toBe('w10');
    }));

  it('loses what a store refuses, says so, and goes on', () => {
    let isFull = true;
    const refusing = (store: Store): Store =>
      new Proxy(store, {
        get: (target, name: keyof Store) =>
          name === 'transact' && isFull
            ? () => Promise.reject(new BerthError('StoreFull', 'no room'))
            : target[name].bind(target),
      });
    return during(
      {},
      async (log, env, _, problems) => {
        log.append(decided(log.newName(), 'lost'));
        await env.sleep(1_000);
        isFull = false;
        log.append(decided(log.newName(), 'kept'));
        await env.sleep(1_000);
        expect(await listed(log)).toEqual(['kept']);
        expect(log.counters).toMatchObject({ kept: 1, dropped: 1 });
        expect(problems).toEqual(['decisions could not be kept: no room']);
      },
      refusing,
    );
  });

  it('counts what an earlier form of it left, does not show it, and deletes it when it is too old', () =>
    during({ ageMsMax: 60_000 }, async (first, env, store) => {
      const stamp = positionOf(first.newName())?.stamp ?? 0;
      const old = { tenant: 'fraud', workload: 'old', replicas: ['old-0-1'], nodes: ['n1'], bytes: 300 };
      const put = (key: string, value: unknown) =>
        ({ kind: 'put', key, value: Buffer.from(JSON.stringify(value)) }) as const;
      const keys = ['/d/', '/s/', '/w/fraud/old/'].map((prefix) => keyAt(prefix, stamp));
      await store.transact({ guards: [], writes: keys.map((key) => put(key, old)) });
      const limits = { ...decisionLimitsDefault, ageMsMax: 60_000 };
      const log = await DecisionLog.open({ store, env, server: 'alpha', limits });
      expect(await listed(log)).toEqual([]);
      expect(await listed(log, { tenant: 'fraud', workload: 'old' })).toEqual([]);
      expect(await log.get('fraud', decisionName({ stamp, server: 'alpha' }))).toBeUndefined();
      expect(log.counters).toEqual({ kept: 1, bytes: 300, dropped: 0 });
      await env.sleep(80_000);
      expect((await store.read(keysUnder('/'))).entries).toEqual([]);
      await log.close();
    }));

  it('writes many at once, few large ones in a transaction, and keeps all of them', () =>
    during({}, async (log, env, store) => {
      for (let count = 0; count < 130; count += 1) {
        const long = count < 4 ? 'x'.repeat(600_000) : '';
        log.append(decided(log.newName(), `w${count}`, ['n1'], { inputs: { long } }));
      }
      const { revision } = await store.read(keysUnder('/'));
      await env.sleep(1_000);
      expect(log.counters).toMatchObject({ kept: 130, dropped: 0 });
      // Of the first hundred two and two large ones with those that fit beside them, then as many as go together.
      expect((await store.read(keysUnder('/'))).revision - revision).toBe(5);
      expect((await listed(log, { limit: 200 })).toReversed()).toEqual(
        Array.from({ length: 130 }, (_, index) => `w${index}`),
      );
    }));

  it('comes to rest: without new decisions nothing is written', () =>
    during({}, async (log, env, store) => {
      log.append(decided(log.newName(), 'score'));
      await env.sleep(30_000);
      const { revision } = await store.read(keysUnder('/'));
      await env.sleep(600_000);
      expect((await store.read(keysUnder('/'))).revision).toBe(revision);
    }));
});
