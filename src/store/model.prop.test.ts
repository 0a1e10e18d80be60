import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { backends } from '../../testing/backends.js';
import { isBerthError } from '../model/errors.js';
import type { ChangeSet, Guard, Revision, Store, Write } from './contract.js';
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

const guard = fc.oneof(
  fc.record({ kind: fc.constant('absent' as const), key }),
  fc.record({ kind: fc.constant('value' as const), key, value }),
  // Guards on the revision of some past transaction: 0 is the newest one that changed anything.
  fc.record({ kind: fc.constant('unchanged' as const), key, ago: fc.nat(3) }),
  // And on the key's own last change, so that a good part of the guards hold.
  fc.record({ kind: fc.constant('fresh' as const), key }),
);
const write = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('put' as const), key, value }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('delete' as const), key }) },
);
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('transact' as const),
      guards: fc.array(guard, { maxLength: 2 }),
      writes: fc.uniqueArray(write, { maxLength: 4, selector: (one) => one.key }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('read' as const), from: key, to: key, ago: fc.nat(12) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('compact' as const), ago: fc.nat(6) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('watch' as const), ago: fc.nat(12) }) },
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

  apply(writes: readonly { kind: 'put' | 'delete'; key: string; value?: string }[]): boolean {
    const next = new Map(this.state);
    const number = this.states.length;
    const changes: string[] = [];
    for (const one of writes) {
      const before = next.get(one.key);
      if (one.kind === 'put') {
        next.set(one.key, { value: one.value ?? '', created: before?.created ?? number, changed: number });
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

async function runSteps(store: Store, steps: readonly Step[]): Promise<void> {
  const model = new Model();
  const revisions: Revision[] = [(await store.read(everyKey)).revision];
  const ago = (count: number): number => Math.max(0, model.last - count);
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

  for (const one of steps) {
    switch (one.do) {
      case 'transact': {
        const guards: Guard[] = [];
        let holds = true;
        for (const g of one.guards) {
          const entry = model.state.get(g.key);
          switch (g.kind) {
            case 'absent':
              holds &&= entry === undefined;
              guards.push(g);
              break;
            case 'value':
              holds &&= entry?.value === g.value;
              guards.push({ kind: 'value', key: g.key, value: Buffer.from(g.value) });
              break;
            case 'unchanged':
            case 'fresh': {
              const number = g.kind === 'fresh' ? (entry?.changed ?? 0) : ago(g.ago);
              holds &&= entry !== undefined && entry.changed === number;
              guards.push({ kind: 'unchanged', key: g.key, modRevision: revisions[number] as Revision });
              break;
            }
          }
        }
        const writes = one.writes.map((w): Write =>
          w.kind === 'put' ? { kind: 'put', key: w.key, value: Buffer.from(w.value) } : w,
        );
        const outcome = await store.transact({ guards, writes });
        expect(outcome.kind).toBe(holds ? 'Committed' : 'GuardFailed');
        if (outcome.kind === 'Committed' && model.apply(one.writes)) {
          expect(outcome.revision).toBeGreaterThan(revisions.at(-1) ?? 0);
          revisions.push(outcome.revision);
        }
        break;
      }
      case 'read': {
        const number = ago(one.ago);
        const range = { from: one.from, to: one.to };
        const result = await expiredOr(
          number,
          store.read(range, { revision: revisions[number] as Revision }),
        );
        if (result === undefined) break;
        const expected = keys
          .filter((k) => k >= one.from && k < one.to && model.states[number]?.has(k))
          .map((k) => {
            const entry = model.states[number]?.get(k) as ModelEntry;
            return [k, entry.value, revisions[entry.created], revisions[entry.changed]];
          });
        expect(
          result.entries.map((e) => [
            e.key,
            Buffer.from(e.value).toString(),
            e.createRevision,
            e.modRevision,
          ]),
        ).toEqual(expected);
        break;
      }
      case 'compact': {
        const number = ago(one.ago);
        await store.compact(revisions[number] as Revision);
        model.compacted = Math.max(model.compacted, number);
        break;
      }
      case 'watch': {
        const number = ago(one.ago);
        const watch = store.watch(everyKey, { after: revisions[number] as Revision });
        const seen: ChangeSet[] = [];
        const expected = model.sets.slice(number + 1);
        // Nothing is owed to a watcher of the newest revision, so nothing is waited for.
        if (expected.length === 0) break;
        const first = await expiredOr(number, watch.next());
        if (first === undefined) break;
        seen.push(...(first.value ?? []));
        while (seen.length < expected.length) seen.push(...((await watch.next()).value ?? []));
        await watch.return();
        expect(seen.map((set) => set.revision)).toEqual(revisions.slice(number + 1));
        expect(seen.map(shownSet)).toEqual(expected);
        break;
      }
    }
  }
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

describe.each(backends())('$name and a model of all states', (backend) => {
  beforeAll(() => backend.prepare());
  afterAll(() => backend.dispose());

  it('give the same answers to generated transactions, reads of the past, watches and compactions', async () => {
    // A new lmdb store costs a thread and a new etcd watch up to 100 ms, so the real ones get fewer, longer runs.
    const [numRuns, maxLength] = { memory: [300, 60], lmdb: [40, 80], etcd: [25, 60] }[backend.name] as [
      number,
      number,
    ];
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength, size: 'max' }), async (steps) => {
        const store = await backend.open();
        await runSteps(store, steps);
        await store.close();
      }),
      // Shrinking repeats a run hundreds of times, which only the memory store does in a moment.
      { numRuns, endOnFailure: backend.name !== 'memory' },
    );
  }, 120_000);
});
