import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonWriter } from '../json-writer.js';
import { hasInColumn, packedRows, type PackedRows, unpackedRows } from './packed-rows.js';

const kept = (packed: PackedRows | undefined): PackedRows =>
  JSON.parse(new JsonWriter().write(packed).toString()) as PackedRows;

const value = fc.oneof(
  fc.constantFrom<unknown>('n1', 'n2', 1, true, undefined),
  fc.array(fc.constantFrom('a', 'b'), { maxLength: 2 }),
  fc.record({ count: fc.nat(3) }),
);
const rowsOf = (names: readonly string[]) =>
  fc.array(fc.record(Object.fromEntries(names.map((name) => [name, value])), { requiredKeys: [] }), {
    maxLength: 6,
  });
const own = rowsOf(['name', 'uid', 'slot', 'gang']);
const besides = rowsOf(['replica', 'uid', 'node']);

describe('rows field by field', () => {
  it('come back as they were, also where fields stand in other rows', () => {
    fc.assert(
      fc.property(own, besides, (rows, beside) => {
        const written = JSON.parse(JSON.stringify(rows)) as unknown;
        expect(unpackedRows(kept(packedRows(rows)))).toEqual(written);
        expect(unpackedRows(kept(packedRows(rows, beside)), beside)).toEqual(written);
      }),
    );
  });

  it('have once what is the same in all, or in other rows', () => {
    const others = [
      { replica: 'w-0', node: 'n1' },
      { replica: 'w-1', node: 'n1' },
    ];
    const rows = [
      { tenant: 'fraud', name: 'w-0', slot: '0' },
      { tenant: 'fraud', name: 'w-1', slot: '1', gang: 'g' },
    ];
    expect(kept(packedRows(rows, others))).toEqual({
      count: 2,
      columns: { tenant: { all: 'fraud' }, name: { as: 'replica' }, slot: ['0', '1'], gang: [null, 'g'] },
    });
  });

  it.each([
    ['null', [{ name: null }]],
    ['no records', ['a']],
    ['lists', [['a']]],
    ['nothing', [null]],
  ])('are not packed where they would not come back: %s', (_, rows) =>
    expect(packedRows(rows)).toBeUndefined(),
  );

  it('are looked through without being unpacked', () => {
    const packed = kept(
      packedRows([
        { node: 'n1', replica: 'a' },
        { node: 'n1', replica: 'b' },
      ]) ?? undefined,
    );
    const has = (name: string, text: string): boolean => hasInColumn(packed, name, text);
    expect([has('node', 'n1'), has('node', 'n2'), has('replica', 'b'), has('replica', 'n1')]).toEqual([
      ...[true, false, true, false],
    ]);
    expect([has('leaving', 'n1'), hasInColumn({ count: 0, columns: {} }, 'node', 'n1')]).toEqual([
      false,
      false,
    ]);
  });
});
