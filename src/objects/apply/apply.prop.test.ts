import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DraftObject } from './owned-part.js';
import { applied, apply, at, updated, workload, type Fields } from './workload.fixture.js';

const text = fc.constantFrom('a', 'b', 'c', '__proto__', 'constructor');
const record = (shape: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<Fields> =>
  fc.record(shape, { requiredKeys: [] });
const map = fc
  .array(fc.tuple(text, text), { maxLength: 3 })
  .map((entries) => Object.fromEntries(entries) as Fields);
/** Mostly what the schema expects, sometimes anything. */
const mostly = (value: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 12, arbitrary: value }, { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) });

const env = fc.uniqueArray(
  fc.tuple(text, record({ value: text, secret: text })).map(([name, rest]) => ({ name, ...rest })),
  { maxLength: 3, selector: ({ name }) => name },
);
const spec = record({
  replicas: mostly(fc.nat(2)),
  command: mostly(fc.array(text, { maxLength: 2 })),
  zones: mostly(fc.uniqueArray(text, { maxLength: 3 })),
  nodeSelector: mostly(map),
  near: mostly(record({ region: text })),
  env: mostly(env),
  ports: mostly(
    fc
      // As admission leaves them: with the key that has a default.
      .uniqueArray(fc.constantFrom('TCP', 'UDP'))
      .map((protocols) => protocols.map((protocol) => ({ number: 80, protocol }))),
  ),
  unknown: fc.jsonValue({ maxDepth: 3 }),
});
const config = fc
  .tuple(record({ spec: mostly(spec) }), record({ labels: mostly(map), finalizers: fc.uniqueArray(text) }))
  .map(([fields, metadata]) => workload(fields, metadata));
const live = fc.option(config, { nil: undefined });

/** As the store gives it back: plain JSON. */
const stored = (object: DraftObject): DraftObject => JSON.parse(JSON.stringify(object)) as DraftObject;
const created = (object: DraftObject | undefined): DraftObject | undefined =>
  object === undefined ? undefined : stored(updated(undefined, 'creator', object));

describe('server-side apply, whatever is applied to whatever', () => {
  it('applying the same configuration twice changes nothing, neither object nor managedFields', () => {
    fc.assert(
      fc.property(live, config, fc.boolean(), (before, wanted, force) => {
        const first = apply(created(before), 'a', wanted, { force, now: at(1) });
        if (first.kind === 'Conflict') return;
        const again = applied(stored(first.object), 'a', wanted, { now: at(2) });
        expect(JSON.stringify(again)).toBe(JSON.stringify(first.object));
      }),
      { numRuns: 1_000 },
    );
  });

  it('applying and then applying nothing removes exactly what was added', () => {
    fc.assert(
      fc.property(live, config, (before, wanted) => {
        const base = created(before);
        const first = apply(base, 'a', wanted, { now: at(1) });
        if (first.kind === 'Conflict') return;
        const after = applied(stored(first.object), 'a', workload({}), { now: at(2) });
        expect(stored(after)).toEqual(base ?? workload({}));
      }),
      { numRuns: 1_000 },
    );
  });

  it('a conflict is reported exactly when somebody else would lose a value', () => {
    fc.assert(
      fc.property(config, config, (before, wanted) => {
        const base = created(before);
        const forced = applied(base, 'a', wanted, { force: true });
        const isTaken =
          JSON.stringify(forced.metadata.managedFields?.find(({ manager }) => manager === 'creator')) !==
          JSON.stringify(base?.metadata.managedFields?.[0]);
        expect(apply(base, 'a', wanted).kind).toBe(isTaken ? 'Conflict' : 'Applied');
      }),
      { numRuns: 1_000 },
    );
  });

  it('with force the object says all that was applied', () => {
    fc.assert(
      fc.property(live, config, (before, wanted) => {
        const forced = applied(created(before), 'a', wanted, { force: true });
        const again = apply(stored(forced), 'b', wanted);
        expect(again.kind).toBe('Applied');
        if (again.kind === 'Applied') expect(again.object['spec']).toEqual(forced['spec']);
      }),
      { numRuns: 500 },
    );
  });
});
