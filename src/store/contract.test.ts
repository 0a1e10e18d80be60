import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { backends, etcdOfThree } from '../../testing/backends.js';
import { realEnv } from '../env/real.js';
import { isBerthError } from '../model/errors.js';
import {
  asRevision,
  type ChangeSet,
  type Revision,
  type Store,
  transactionBytesMax,
  type Watch,
  type Write,
} from './contract.js';
import { everyKey, keysUnder, singleKey } from './key-range.js';

const bytes = (text: string): Buffer => Buffer.from(text);
const put = (key: string, value: string): Write => ({ kind: 'put', key, value: bytes(value) });
const remove = (key: string): Write => ({ kind: 'delete', key });

async function write(store: Store, ...writes: Write[]): Promise<Revision> {
  const outcome = await store.transact({ guards: [], writes });
  if (outcome.kind !== 'Committed') throw new Error(`not committed: ${outcome.kind}`);
  return outcome.revision;
}

async function contents(store: Store, revision?: Revision): Promise<Record<string, string>> {
  const { entries } = await store.read(everyKey, revision === undefined ? {} : { revision });
  return Object.fromEntries(entries.map((entry) => [entry.key, Buffer.from(entry.value).toString()]));
}

/** Reads from a watch until a change set at or past `until` has arrived. */
async function collect(watch: Watch, until: Revision): Promise<ChangeSet[]> {
  const collected: ChangeSet[] = [];
  while ((collected.at(-1)?.revision ?? 0) < until) {
    const turn = await watch.next();
    if (turn.done) throw new Error('the watch ended early');
    collected.push(...turn.value);
  }
  return collected;
}

const shown = (sets: readonly ChangeSet[]): string[] =>
  sets.map(
    (set) =>
      `${set.revision}: ${set.changes
        .map((change) =>
          change.kind === 'put'
            ? `${change.entry.key}=${Buffer.from(change.entry.value).toString()}`
            : `-${change.key}`,
        )
        .toSorted()
        .join(' ')}`,
  );

const failsWith = async (
  promise: Promise<unknown>,
  code: Parameters<typeof isBerthError>[1],
): Promise<Error> => {
  const error = await promise.then(
    () => undefined,
    (caught: unknown) => caught,
  );
  if (!isBerthError(error, code)) throw new Error(`expected ${code}, got ${String(error)}`);
  return error;
};

describe.each([...backends(), etcdOfThree()])('the store contract on $name', (backend) => {
  let store: Store;
  beforeAll(() => backend.prepare());
  afterAll(() => backend.dispose());
  beforeEach(async () => {
    store = await backend.open();
  });

  describe('read', () => {
    it('returns nothing of an empty range, with the revision it looked at', async () => {
      const result = await store.read(everyKey);
      expect(result.entries).toEqual([]);
      expect(result.more).toBe(false);
      expect(result.revision).toBeGreaterThan(0);
    });

    it('returns entries in byte order with the revisions of creation and last change', async () => {
      const first = await write(store, put('/b', '1'), put('/a/2', '2'), put('/a/10', '3'), put('/Z', '4'));
      const second = await write(store, put('/b', '5'));
      const { entries, revision } = await store.read(everyKey);
      expect(revision).toBe(second);
      expect(entries.map((entry) => entry.key)).toEqual(['/Z', '/a/10', '/a/2', '/b']);
      expect(entries[3]).toMatchObject({ createRevision: first, modRevision: second });
      expect(entries[0]).toMatchObject({ createRevision: first, modRevision: first });
    });

    it('reads one key or one prefix and nothing beside it', async () => {
      await write(store, put('/a', '1'), put('/a/x', '2'), put('/a/y', '3'), put('/a0', '4'), put('/b', '5'));
      const keysOf = async (range: typeof everyKey): Promise<string[]> =>
        (await store.read(range)).entries.map((entry) => entry.key);
      expect(await keysOf(singleKey('/a'))).toEqual(['/a']);
      expect(await keysOf(keysUnder('/a/'))).toEqual(['/a/x', '/a/y']);
      expect(await keysOf({ from: '/a/y', to: '/b' })).toEqual(['/a/y', '/a0']);
    });

    it('stops at the limit and says whether there is more', async () => {
      await write(store, put('/1', ''), put('/2', ''), put('/3', ''));
      const two = await store.read(everyKey, { limit: 2 });
      expect(two.entries.map((entry) => entry.key)).toEqual(['/1', '/2']);
      expect(two.more).toBe(true);
      expect((await store.read(everyKey, { limit: 3 })).more).toBe(false);
      await expect(store.read(everyKey, { limit: 0 })).rejects.toThrow('read limit 0');
    });

    it('shows the past as it was: changed, deleted and created keys alike', async () => {
      const first = await write(store, put('/a', 'a1'), put('/b', 'b1'));
      const second = await write(store, put('/a', 'a2'), remove('/b'), put('/c', 'c2'));
      const third = await write(store, put('/b', 'b3'), remove('/c'));
      expect(await contents(store, first)).toEqual({ '/a': 'a1', '/b': 'b1' });
      expect(await contents(store, second)).toEqual({ '/a': 'a2', '/c': 'c2' });
      expect(await contents(store, third)).toEqual({ '/a': 'a2', '/b': 'b3' });
      const { entries } = await store.read(singleKey('/b'));
      expect(entries[0]?.createRevision, 'a key that comes back is a new one').toBe(third);
    });

    it.each([0, -1, 1.5, Number.NaN])('refuses %d as a revision', async (revision) => {
      await write(store, put('/a', '1'));
      await expect(store.read(everyKey, { revision: asRevision(revision) })).rejects.toThrow('read revision');
    });

    it('reads everything under the empty prefix', async () => {
      await write(store, put('!', '1'), put('~', '2'));
      expect((await store.read(keysUnder(''))).entries).toHaveLength(2);
    });

    it('refuses a revision that has not happened', async () => {
      const revision = await write(store, put('/a', '1'));
      await failsWith(store.read(everyKey, { revision: asRevision(revision + 1000) }), 'FutureRevision');
    });
  });

  describe('transact', () => {
    it('applies all writes at one revision', async () => {
      const before = (await store.read(everyKey)).revision;
      const revision = await write(store, put('/a', '1'), put('/b', '2'));
      expect(revision).toBeGreaterThan(before);
      const { entries } = await store.read(everyKey);
      expect(new Set(entries.map((entry) => entry.modRevision))).toEqual(new Set([revision]));
    });

    it('applies nothing when a guard fails, and tells what stood there', async () => {
      const revision = await write(store, put('/a', '1'));
      const outcome = await store.transact({
        guards: [
          { kind: 'unchanged', key: '/a', modRevision: revision },
          { kind: 'absent', key: '/a' },
          { kind: 'value', key: '/b', value: bytes('x') },
        ],
        writes: [put('/a', '2'), put('/c', '2')],
      });
      expect(outcome).toMatchObject({
        kind: 'GuardFailed',
        failed: [
          { guard: { kind: 'absent' }, current: { key: '/a', modRevision: revision } },
          { guard: { kind: 'value' }, current: undefined },
        ],
      });
      expect(await contents(store)).toEqual({ '/a': '1' });
    });

    it.each([
      ['unchanged', true],
      ['absent', true],
      ['value', true],
      ['unchanged', false],
      ['absent', false],
      ['value', false],
    ] as const)('a guard of kind %s that holds=%s decides', async (kind, holds) => {
      const revision = await write(store, put('/here', 'v'));
      const stale = await write(store, put('/other', 'w'));
      const guard = {
        unchanged: { kind: 'unchanged', key: '/here', modRevision: holds ? revision : stale } as const,
        absent: { kind: 'absent', key: holds ? '/nowhere' : '/here' } as const,
        value: { kind: 'value', key: '/here', value: bytes(holds ? 'v' : 'w') } as const,
      }[kind];
      const outcome = await store.transact({ guards: [guard], writes: [put('/done', 'yes')] });
      expect(outcome.kind).toBe(holds ? 'Committed' : 'GuardFailed');
      expect('/done' in (await contents(store))).toBe(holds);
    });

    it('changes no revision when nothing changes', async () => {
      const revision = await write(store, put('/a', '1'));
      expect(await write(store, remove('/never'))).toBe(revision);
      expect(await write(store)).toBe(revision);
      expect((await store.read(everyKey)).revision).toBe(revision);
    });

    it('takes empty and large values and refuses larger ones', async () => {
      const large = Buffer.alloc(transactionBytesMax - 1_000, 'x');
      await store.transact({
        guards: [],
        writes: [put('/empty', ''), { kind: 'put', key: '/large', value: large }],
      });
      const { entries } = await store.read(everyKey);
      expect(entries.map((entry) => entry.value.byteLength)).toEqual([0, large.length]);
      const tooLarge = Buffer.alloc(transactionBytesMax + 1);
      await failsWith(
        store.transact({ guards: [], writes: [{ kind: 'put', key: '/larger', value: tooLarge }] }),
        'InvalidTransaction',
      );
    });

    it('takes 128 guards and writes and refuses one more of either', async () => {
      const writes = (count: number): Write[] =>
        Array.from({ length: count }, (_, index) => put(`/${index}`, ''));
      const guards = (count: number) =>
        Array.from({ length: count }, (_, index) => ({ kind: 'absent', key: `/${index}` }) as const);
      expect((await store.transact({ guards: guards(128), writes: writes(128) })).kind).toBe('Committed');
      await failsWith(store.transact({ guards: guards(129), writes: [] }), 'InvalidTransaction');
      await failsWith(store.transact({ guards: [], writes: writes(129) }), 'InvalidTransaction');
    });

    it.each([
      { what: 'nothing', key: '' },
      { what: 'a space', key: 'a b' },
      { what: 'a letter outside ASCII', key: 'ümlaut' },
      { what: 'a control character', key: '/tab\t' },
      { what: 'a zero byte', key: '/nul\0' },
      { what: '1001 characters', key: 'x'.repeat(1001) },
    ])('refuses a key of $what', async ({ key }) => {
      const error = await failsWith(store.transact({ guards: [], writes: [put(key, '')] }), 'InvalidKey');
      expect(error.message).toContain('printable ASCII');
    });

    it('takes long keys in 128 guards together with as large a value as the rules allow', async () => {
      const guards = Array.from({ length: 128 }, (_, index) => ({
        kind: 'absent' as const,
        key: `/${index}/`.padEnd(1_000, 'k'),
      }));
      const value = Buffer.alloc(transactionBytesMax - 128 * 2 * 1_100 - 200);
      const outcome = await store.transact({ guards, writes: [{ kind: 'put', key: '/a', value }] });
      expect(outcome.kind).toBe('Committed');
    });

    it('refuses values that are not bytes and guards on no revision', async () => {
      const words = 'words' as unknown as Uint8Array;
      await failsWith(
        store.transact({ guards: [], writes: [{ kind: 'put', key: '/a', value: words }] }),
        'InvalidTransaction',
      );
      const never = { kind: 'unchanged', key: '/a', modRevision: asRevision(0) } as const;
      await failsWith(store.transact({ guards: [never], writes: [] }), 'InvalidTransaction');
      expect(await contents(store)).toEqual({});
    });

    it('finishes what it accepted before it closes, also what wrote nothing', async () => {
      const accepted = [
        store.transact({ guards: [], writes: [put('/a', '1')] }),
        store.transact({ guards: [{ kind: 'value', key: '/none', value: bytes('x') }], writes: [] }),
        store.transact({ guards: [], writes: [] }),
      ];
      await Promise.all([store.close(), store.close()]);
      expect((await Promise.all(accepted)).map((outcome) => outcome.kind)).toEqual([
        'Committed',
        'GuardFailed',
        'Committed',
      ]);
    });

    it('refuses to write one key twice', async () => {
      const error = await failsWith(write(store, put('/a', '1'), remove('/a')), 'InvalidTransaction');
      expect(error.message).toContain('/a is written twice');
    });

    it('loses no update among 64 callers that all guard on one key', async () => {
      await write(store, put('/count', '0'));
      const increment = async (): Promise<void> => {
        for (;;) {
          const entry = (await store.read(singleKey('/count'))).entries[0];
          if (entry === undefined) throw new Error('the counter is gone');
          const outcome = await store.transact({
            guards: [{ kind: 'unchanged', key: '/count', modRevision: entry.modRevision }],
            writes: [put('/count', String(Number(Buffer.from(entry.value).toString()) + 1))],
          });
          if (outcome.kind === 'Committed') return;
        }
      };
      await Promise.all(Array.from({ length: 64 }, increment));
      expect(await contents(store)).toEqual({ '/count': '64' });
    });

    it('judges callers of one turn in order, each on what the one before it wrote', async () => {
      const attempts = Array.from({ length: 10 }, (_, index) =>
        store.transact({ guards: [{ kind: 'absent', key: '/one' }], writes: [put('/one', String(index))] }),
      );
      const kinds = (await Promise.all(attempts)).map((outcome) => outcome.kind);
      expect(kinds.filter((kind) => kind === 'Committed')).toHaveLength(1);
      expect(kinds.filter((kind) => kind === 'GuardFailed')).toHaveLength(9);
    });
  });

  describe('watch', () => {
    it('[S11] yields every change after the given revision once, in order, a transaction at a time', async () => {
      const start = await write(store, put('/a', '0'));
      const watch = store.watch(everyKey, { after: start });
      const first = await write(store, put('/a', '1'), put('/b', '1'));
      const second = await write(store, remove('/a'), put('/c', '2'));
      const third = await write(store, put('/b', '3'));
      expect(shown(await collect(watch, third))).toEqual([
        `${first}: /a=1 /b=1`,
        `${second}: -/a /c=2`,
        `${third}: /b=3`,
      ]);
      await watch.return();
    });

    it('sees only its range', async () => {
      const start = await write(store, put('/x/0', ''));
      const watch = store.watch(keysUnder('/x/'), { after: start });
      const first = await write(store, put('/w', '1'), put('/x/1', '1'), put('/y', '1'));
      await write(store, put('/y', '2'));
      const last = await write(store, put('/x/2', '3'));
      expect(shown(await collect(watch, last))).toEqual([`${first}: /x/1=1`, `${last}: /x/2=3`]);
      await watch.return();
    });

    it('[S11] resumes after any revision that is not compacted', async () => {
      const revisions = [await write(store, put('/n', '0'))];
      for (let count = 1; count <= 12; count++) {
        revisions.push(await write(store, put('/n', String(count)), put(`/n${count % 3}`, '')));
      }
      const last = revisions.at(-1) as Revision;
      const whole = await collect(store.watch(everyKey, { after: revisions[0] as Revision }), last);
      expect(whole).toHaveLength(12);
      for (const [index, revision] of revisions.slice(0, -1).entries()) {
        const watch = store.watch(everyKey, { after: revision });
        expect(shown(await collect(watch, last))).toEqual(shown(whole.slice(index)));
        await watch.return();
      }
    });

    it('carries creation revisions, so that a watcher knows what a reader knows', async () => {
      const created = await write(store, put('/a', '1'));
      const changed = await write(store, put('/a', '2'));
      const [set] = await collect(store.watch(everyKey, { after: created }), changed);
      expect(set?.changes[0]).toMatchObject({
        kind: 'put',
        entry: { key: '/a', createRevision: created, modRevision: changed },
      });
    });

    it('waits for a revision that lies in the future', async () => {
      const now = await write(store, put('/a', '0'));
      const watch = store.watch(everyKey, { after: asRevision(now + 2) });
      const turn = watch.next();
      let last = now;
      while (last <= now + 2) last = await write(store, put('/a', 'x'));
      const { value } = await turn;
      expect(value?.[0]?.revision).toBe(now + 3);
      await watch.return();
    });

    it('ends quietly when its signal aborts, before, while and after it waits', async () => {
      const start = await write(store, put('/a', '0'));
      const stop = new AbortController();
      const waiting = store.watch(everyKey, { after: start, signal: stop.signal });
      const turn = waiting.next();
      stop.abort();
      expect((await turn).done).toBe(true);
      expect((await waiting.next()).done).toBe(true);
      expect((await store.watch(everyKey, { after: start, signal: stop.signal }).next()).done).toBe(true);
    });

    it('ends when the reader leaves the loop', async () => {
      const start = await write(store, put('/a', '0'));
      await write(store, put('/a', '1'));
      const watch = store.watch(everyKey, { after: start });
      for await (const sets of watch) {
        expect(sets).toHaveLength(1);
        break;
      }
      expect((await watch.next()).done).toBe(true);
    });

    it('drops a slow watcher with a bounded buffer and tells it where to resume', async () => {
      const start = await write(store, put('/n', 'start'));
      const watch = store.watch(everyKey, { after: start, bufferChangesMax: 5 });
      const first = watch.next();
      const seen = await write(store, put('/n', 'seen'));
      expect(shown((await first).value ?? [])).toEqual([`${seen}: /n=seen`]);
      let last = seen;
      for (let count = 0; count < 40; count++) last = await write(store, put('/n', String(count)));
      // Whatever was buffered may still arrive; then the watcher is told.
      let delivered = seen;
      let told: unknown;
      while (told === undefined) {
        await watch.next().then(
          (turn) => {
            delivered = turn.value?.at(-1)?.revision ?? delivered;
            if (delivered === last) throw new Error('a buffer of 5 held 40 changes');
          },
          (error: unknown) => {
            told = error;
          },
        );
      }
      expect(isBerthError(told, 'SlowWatcher')).toBe(true);
      const resumeAfter = (told as { details: { resumeAfter: Revision } }).details.resumeAfter;
      expect(resumeAfter).toBe(delivered);
      const rest = await collect(store.watch(everyKey, { after: resumeAfter }), last);
      expect(rest).toHaveLength(40);
      expect((await watch.next()).done).toBe(true);
    });

    it('catches up with more history than its buffer holds, resuming whenever it is told to', async () => {
      const start = await write(store, put('/n', 'start'));
      let last = start;
      for (let count = 0; count < 50; count++) last = await write(store, put('/n', String(count)));
      const seen: ChangeSet[] = [];
      while (seen.length < 50) {
        const watch = store.watch(everyKey, { after: seen.at(-1)?.revision ?? start, bufferChangesMax: 3 });
        try {
          while (seen.length < 50) seen.push(...((await watch.next()).value ?? []));
        } catch (error) {
          if (!isBerthError(error, 'SlowWatcher')) throw error;
          expect(error.details['resumeAfter']).toBe(seen.at(-1)?.revision ?? start);
        }
        await watch.return();
      }
      expect(seen.map((set) => set.changes.length)).toEqual(Array.from({ length: 50 }, () => 1));
      expect(seen.map((set) => set.revision)).toEqual(
        Array.from({ length: 50 }, (_, index) => last - 49 + index),
      );
    });

    it('[S11] tells watchers that join while others write all that comes after, compactions or not', async () => {
      let { revision: last } = await store.read(everyKey);
      const all: number[] = [];
      let running = true;
      const writers = Array.from({ length: 4 }, async (_, writer) => {
        for (let number = 0; number < 60; number++) {
          const revision = await write(store, put(`/w/${writer}`, String(number)));
          all.push(revision);
          last = asRevision(Math.max(last, revision));
        }
      });
      const compactions = (async (): Promise<void> => {
        while (running) {
          await store.compact(asRevision(Math.max(1, (await store.read(everyKey)).revision - 40)));
          await realEnv().yield();
        }
      })();
      const watchers: Promise<{ after: number; seen: number[] }>[] = [];
      const watchFrom = async (after: Revision): Promise<{ after: number; seen: number[] }> => {
        const seen: number[] = [];
        const watch = store.watch(everyKey, { after });
        await Promise.resolve();
        while (running || (seen.at(-1) ?? after) < last) {
          const turn = await watch.next().catch((error: unknown) => {
            if (!isBerthError(error, 'Expired')) throw error;
            return undefined;
          });
          // Too late is an answer too, but only before the first change: from then on there is no gap.
          if (turn === undefined) {
            expect(seen).toEqual([]);
            return { after: Infinity, seen };
          }
          seen.push(...(turn.value ?? []).map((set) => set.revision));
        }
        await watch.return();
        return { after, seen };
      };
      for (let joined = 0; joined < 12; joined++) {
        const { revision } = await store.read(everyKey);
        watchers.push(watchFrom(asRevision(Math.max(1, revision - joined * 5))));
      }
      await Promise.all(writers);
      running = false;
      await compactions;
      await write(store, put('/end', ''));
      for (const { after, seen } of await Promise.all(watchers)) {
        const owed = all.filter((revision) => revision > after).toSorted((a, b) => a - b);
        expect(seen.filter((revision) => revision <= last)).toEqual(owed);
      }
    });

    it('has one reader, and says so to a second', async () => {
      const start = await write(store, put('/a', '0'));
      await write(store, put('/a', '1'));
      const watch = store.watch(everyKey, { after: start });
      const first = watch.next();
      await expect(watch.next()).rejects.toThrow('one reader');
      expect((await first).value).toHaveLength(1);
      await watch.return();
      for (const bufferChangesMax of [0, Number.NaN, 1.5]) {
        expect(() => store.watch(everyKey, { after: start, bufferChangesMax })).toThrow('bufferChangesMax');
      }
    });

    it('ends with StoreClosed when the store is closed', async () => {
      const start = await write(store, put('/a', '0'));
      const live = store.watch(everyKey, { after: start }).next();
      const closing = failsWith(live, 'StoreClosed');
      await store.close();
      await closing;
      await failsWith(store.read(everyKey), 'StoreClosed');
      await failsWith(write(store, put('/a', '1')), 'StoreClosed');
      await store.close();
    });
  });

  describe('compact', () => {
    it('forgets what lies before the revision and keeps the rest', async () => {
      const first = await write(store, put('/a', '1'), put('/gone', '1'));
      const second = await write(store, put('/a', '2'), put('/b', '2'));
      const third = await write(store, remove('/gone'), put('/a', '3'));
      await store.compact(second);
      await failsWith(store.read(everyKey, { revision: first }), 'Expired');
      expect(await contents(store, second)).toEqual({ '/a': '2', '/b': '2', '/gone': '1' });
      expect(await contents(store, third)).toEqual({ '/a': '3', '/b': '2' });
      await failsWith(store.watch(everyKey, { after: first }).next(), 'Expired');
      expect(shown(await collect(store.watch(everyKey, { after: second }), third))).toEqual([
        `${third}: -/gone /a=3`,
      ]);
    });

    it('is told to a watch that comes too late, with the revision that history begins at', async () => {
      const first = await write(store, put('/a', '1'));
      const second = await write(store, put('/a', '2'));
      await write(store, put('/a', '3'));
      await store.compact(second);
      await expect(store.watch(everyKey, { after: first }).next()).rejects.toMatchObject({
        code: 'Expired',
        details: { historyBeginsAt: second },
      });
    });

    it('keeps the state at the compacted revision readable while it is being overwritten', async () => {
      await write(store, put('/a', '1'), put('/b', '1'), put('/c', '1'));
      const second = await write(store, put('/a', '2'), remove('/b'));
      await store.compact(second);
      await write(store, put('/a', '3'), put('/b', '3'), remove('/c'));
      await write(store, remove('/a'), put('/b', '4'), put('/c', '4'));
      expect(await contents(store, second)).toEqual({ '/a': '2', '/c': '1' });
      const now = await write(store, put('/d', '5'));
      await store.compact(now);
      expect(await contents(store)).toEqual({ '/b': '4', '/c': '4', '/d': '5' });
      await failsWith(store.read(everyKey, { revision: second }), 'Expired');
    });

    it('is told of a deletion at the compacted revision by list, not by watch', async () => {
      const first = await write(store, put('/a', '1'));
      const deleted = await write(store, remove('/a'));
      await write(store, put('/b', '1'));
      await store.compact(deleted);
      await failsWith(store.watch(everyKey, { after: first }).next(), 'Expired');
    });

    it('never goes back, whichever of two that run at once is done last', async () => {
      const revisions: Revision[] = [];
      for (let count = 0; count < 20; count++) revisions.push(await write(store, put('/k', String(count))));
      await Promise.all([store.compact(revisions[15] as Revision), store.compact(revisions[5] as Revision)]);
      await failsWith(store.read(everyKey, { revision: revisions[10] as Revision }), 'Expired');
      await failsWith(store.watch(everyKey, { after: revisions[10] as Revision }).next(), 'Expired');
      expect(await contents(store, revisions[16])).toEqual({ '/k': '16' });
    });

    it('may be repeated, may go back, and refuses the future', async () => {
      await write(store, put('/a', '1'));
      const second = await write(store, put('/a', '2'));
      await store.compact(second);
      await store.compact(second);
      await store.compact(asRevision(second - 1));
      await failsWith(store.compact(asRevision(second + 1000)), 'FutureRevision');
      expect(await contents(store)).toEqual({ '/a': '2' });
    });
  });
});
