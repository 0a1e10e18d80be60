import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Backend, backends } from '../../testing/backends.js';
import { isBerthError } from '../model/errors.js';
import type { ChangeSet, Guard, Revision, TransactOutcome, Write } from './contract.js';
import { everyKey } from './key-range.js';

/**
 * A store so simple that it is right by inspection: the full state after every transaction. It numbers
 * transactions 0, 1, 2…; `revisions` says which revision the store under test gave to each.
 */
interface ModelEntry {
  readonly value: string;
  readonly created: number;
  readonly changed: number;
}
type State = ReadonlyMap<string, ModelEntry>;

const keys = ['/a', '/a/b', '/a/c', '/b', '/c'] as const;
const key = fc.constantFrom(...keys);
const value = fc.constantFrom('', 'x', 'yy');
const constant = <T extends string>(text: T): fc.Arbitrary<T> => fc.constant(text);

const guard = fc.oneof(
  fc.record({ kind: constant('absent'), key }),
  fc.record({ kind: constant('value'), key, value }),
  // Guards on the revision of some past transaction: 0 is the newest one that changed anything.
  fc.record({ kind: constant('unchanged'), key, ago: fc.nat(3) }),
  // And on the key's own last change, so that a good part of the guards hold.
  fc.record({ kind: constant('fresh'), key }),
);
const put = fc.record({ kind: constant('put'), key, value });
const remove = fc.record({ kind: constant('delete'), key });
const write = fc.oneof({ weight: 3, arbitrary: put }, { weight: 2, arbitrary: remove });
const transaction = fc.record({
  guards: fc.array(guard, { maxLength: 2 }),
  writes: fc.uniqueArray(write, { maxLength: 4, selector: (one) => one.key }),
});
type AskedTransaction = typeof transaction extends fc.Arbitrary<infer T> ? T : never;

// Several transactions of one turn share a batch on lmdb: each is judged on what those before it will have written.
const transact = fc.record({
  do: constant('transact'),
  all: fc.array(transaction, { minLength: 1, maxLength: 5 }),
});
const limit = fc.integer({ min: 1, max: 5 });
const read = fc.record({ do: constant('read'), from: key, to: key, ago: fc.nat(12), limit });
const compact = fc.record({ do: constant('compact'), ago: fc.nat(6) });
const watch = fc.record({ do: constant('watch'), ago: fc.nat(12) });
const reopen = fc.record({ do: constant('reopen') });
const step = fc.oneof(
  { weight: 6, arbitrary: transact },
  { weight: 3, arbitrary: read },
  { weight: 1, arbitrary: compact },
  { weight: 1, arbitrary: watch },
  { weight: 1, arbitrary: reopen },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

class Model {
  readonly states: State[] = [new Map()];
  readonly sets: string[] = [''];
  compacted = -1;

  get last(): number {
    return this.states.length - 1;
  }

  get state(): State {
    return this.states[this.last] ?? new Map();
  }

  apply(writes: AskedTransaction['writes']): boolean {
    const next = new Map(this.state);
    const number = this.states.length;
    const changes: string[] = [];
    for (const one of writes) {
      const before = next.get(one.key);
      if (one.kind === 'put') {
        next.set(one.key, { value: one.value, created: before?.created ?? number, changed: number });
        changes.push(`${one.key}=${one.value}`);
      } else if (next.delete(one.key)) {
        changes.push(`-${one.key}`);
      }
    }
    if (changes.length === 0) return false;
    this.states.push(next);
    this.sets.push(changes.toSorted().join(' '));
    return true;
  }
}

/** A transaction that was sent, and what the model says of it. */
interface Sent {
  readonly outcome: Promise<TransactOutcome>;
  /** The keys whose guards fail, with what stands there; empty if it must commit. */
  readonly failing: ReadonlyMap<string, ModelEntry | undefined>;
  readonly changes: boolean;
}

async function runSteps(backend: Backend, steps: readonly Step[]): Promise<void> {
  let store = await backend.open();
  const model = new Model();
  const revisions: Revision[] = [(await store.read(everyKey)).revision];
  const ago = (count: number): number => Math.max(0, model.last - count);
  const revisionOf = (number: number): Revision => revisions[number] as Revision;

  const expiredOr = async <T>(number: number, promise: Promise<T>): Promise<T | undefined> => {
    try {
      const result = await promise;
      expect(number, 'a compacted revision was served').toBeGreaterThanOrEqual(model.compacted);
      return result;
    } catch (error) {
      if (!isBerthError(error, 'Expired')) throw error;
      expect(number, 'a revision that was not compacted is expired').toBeLessThan(model.compacted);
      return undefined;
    }
  };

  const send = ({ guards: asked, writes }: AskedTransaction): Sent => {
    // The revisions of this turn are not known yet, so a guard can only name an older one.
    const known = revisions.length - 1;
    const guards: Guard[] = [];
    const failing = new Map<string, ModelEntry | undefined>();
    for (const g of asked) {
      const entry = model.state.get(g.key);
      let holds: boolean;
      if (g.kind === 'absent') {
        holds = entry === undefined;
        guards.push(g);
      } else if (g.kind === 'value') {
        holds = entry?.value === g.value;
        guards.push({ kind: 'value', key: g.key, value: Buffer.from(g.value) });
      } else {
        const number = Math.min(
          known,
          g.kind === 'fresh' ? (entry?.changed ?? 0) : Math.max(0, known - g.ago),
        );
        holds = entry !== undefined && entry.changed === number;
        guards.push({ kind: 'unchanged', key: g.key, modRevision: revisionOf(number) });
      }
      if (!holds) failing.set(g.key, entry);
    }
    const sentWrites = writes.map((w): Write =>
      w.kind === 'put' ? { kind: 'put', key: w.key, value: Buffer.from(w.value) } : w,
    );
    const outcome = store.transact({ guards, writes: sentWrites });
    return { outcome, failing, changes: failing.size === 0 && model.apply(writes) };
  };

  const settle = async ({ outcome: pending, failing, changes }: Sent): Promise<void> => {
    const outcome = await pending;
    expect(outcome.kind).toBe(failing.size === 0 ? 'Committed' : 'GuardFailed');
    if (outcome.kind === 'Committed' && changes) {
      expect(outcome.revision).toBeGreaterThan(revisions.at(-1) ?? 0);
      revisions.push(outcome.revision);
    } else if (outcome.kind === 'GuardFailed') {
      const found = new Map(outcome.failed.map((failed) => [failed.guard.key, failed.current]));
      expect([...found.keys()].toSorted()).toEqual([...failing.keys()].toSorted());
      for (const [failed, entry] of failing) {
        const current = found.get(failed);
        expect(current === undefined ? undefined : Buffer.from(current.value).toString()).toBe(entry?.value);
      }
    }
  };

  for (const one of steps) {
    switch (one.do) {
      case 'transact':
        if (backend.name === 'etcd') {
          // Only the embedded stores judge the callers of one turn in the order of their calls.
          for (const asked of one.all) await settle(send(asked));
        } else {
          for (const sent of one.all.map(send)) await settle(sent);
        }
        break;
      case 'read': {
        const number = ago(one.ago);
        const range = { from: one.from, to: one.to };
        const options = { revision: revisionOf(number), limit: one.limit };
        const result = await expiredOr(number, store.read(range, options));
        if (result === undefined) break;
        const expected = keys
          .filter((k) => k >= one.from && k < one.to && model.states[number]?.has(k))
          .map((k) => {
            const entry = model.states[number]?.get(k) as ModelEntry;
            return [k, entry.value, revisionOf(entry.created), revisionOf(entry.changed)];
          });
        expect(
          result.entries.map((e) => [
            e.key,
            Buffer.from(e.value).toString(),
            e.createRevision,
            e.modRevision,
          ]),
        ).toEqual(expected.slice(0, one.limit));
        expect(result.more).toBe(expected.length > one.limit);
        break;
      }
      case 'compact': {
        const number = ago(one.ago);
        await store.compact(revisionOf(number));
        model.compacted = Math.max(model.compacted, number);
        break;
      }
      case 'watch': {
        const number = ago(one.ago);
        const following = store.watch(everyKey, { after: revisionOf(number) });
        const seen: ChangeSet[] = [];
        const expected = model.sets.slice(number + 1);
        // Nothing is owed to a watcher of the newest revision, so nothing is waited for.
        if (expected.length === 0) break;
        const first = await expiredOr(number, following.next());
        if (first === undefined) break;
        seen.push(...(first.value ?? []));
        while (seen.length < expected.length) seen.push(...((await following.next()).value ?? []));
        await following.return();
        expect(seen.map((set) => set.revision)).toEqual(revisions.slice(number + 1));
        expect(seen.map(shownSet)).toEqual(expected);
        break;
      }
      case 'reopen':
        store = (await backend.reopen?.(store)) ?? store;
        break;
    }
  }
  await store.close();
}

const shownSet = (set: ChangeSet): string =>
  set.changes
    .map((change) =>
      change.kind === 'put'
        ? `${change.entry.key}=${Buffer.from(change.entry.value).toString()}`
        : `-${change.key}`,
    )
    .toSorted()
    .join(' ');

// A new lmdb store costs a thread and a new etcd watch up to 100 ms, so the real ones get fewer runs.
const runsOn = { memory: 300, lmdb: 40, etcd: 25, 'etcd-of-three': 0 };

describe.each(backends())('$name and a model of all states', (backend) => {
  beforeAll(() => backend.prepare());
  afterAll(() => backend.dispose());

  it('give the same answers to generated transactions, reads of the past, watches and compactions', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 60, size: 'max' }), (steps) =>
        runSteps(backend, steps),
      ),
      // Shrinking repeats a run hundreds of times, which only the memory store does in a moment.
      { numRuns: runsOn[backend.name], endOnFailure: backend.name !== 'memory' },
    );
  }, 120_000);
});
