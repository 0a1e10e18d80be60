import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonWriter } from './json-writer.js';

const writer = new JsonWriter();
const written = (value: unknown): string => writer.write(value).toString();

describe('what is written', () => {
  it('is what JSON.stringify would write, whatever the data', () => {
    // Halves of surrogate pairs too, which are no characters by themselves.
    const unit = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code));
    const text = fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.string({ unit }));
    const data = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 5 },
        text,
        fc.double(),
        fc.integer(),
        fc.maxSafeInteger(),
        fc.boolean(),
        fc.constant(null),
        fc.constant(undefined),
        fc.array(tie('value'), { maxLength: 5 }),
        fc.dictionary(text, tie('value'), { maxKeys: 5 }),
      ),
    })).value;
    fc.assert(
      fc.property(data, (value) => {
        expect(written({ value })).toBe(JSON.stringify({ value }));
        // From what has been kept of it.
        expect(written({ value })).toBe(JSON.stringify({ value }));
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    [
      'the edges of numbers',
      [
        0,
        -0,
        9,
        10,
        99,
        100,
        999_999_999,
        1_000_000_000,
        1_000_000_001,
        70_368_744_177_664,
        2 ** 53 - 1,
        2 ** 53,
        1e21,
        -1,
        0.5,
        1e300,
        Number.NaN,
      ],
    ],
    ['what must be escaped', ['"', '\\', '\n', '\u007f', 'ü', '\u2028', '\ud800', '😀', '\u0000']],
    ['fields that are not there', { a: undefined, b: 1, c: undefined }],
    ['empty things', { a: {}, b: [], c: '' }],
    ['numbers as names, which come first', { b: 1, 2: 1, 1: 1 }],
  ])('is right about %s', (_, value) => {
    expect(written(value)).toBe(JSON.stringify(value));
  });

  it('is right when it is larger than anything before, and after that', () => {
    const large = { text: 'x'.repeat(3_000_000), other: 'ü'.repeat(500_000), list: [1, 2, 3] };
    expect(written(large)).toBe(JSON.stringify(large));
    expect(written({ small: true })).toBe('{"small":true}');
  });

  it('is right about names and texts of every length, wherever in memory they come to stand', () => {
    for (let length = 0; length < 40; length++) {
      const value = { ['n'.repeat(length)]: 't'.repeat(length), list: ['a'.repeat(length), 'b', 'a', 'b'] };
      for (let times = 0; times < 500; times++) expect(written(value)).toBe(JSON.stringify(value));
    }
  });

  it('is right when a text takes turns with others, and when the same names come in another order', () => {
    for (let times = 0; times < 20; times++)
      for (const value of [
        { from: 'Queued', to: { stage: 'Bound' } },
        { to: { stage: 'Queued' }, from: `text-${times}` },
        { to: { from: 'Bound' }, stage: 'Queued' },
        { from: ['Bound', { stage: 'Queued' }, { to: 'Bound', from: 'Queued' }] },
      ])
        expect(written(value)).toBe(JSON.stringify(value));
  });

  it('is right when there are more names than are kept', () => {
    for (let at = 0; at < 5_000; at++) {
      const value = {
        same: 'same',
        [`name-${at}`]: { [`name-${at + 1}`]: 'x', [`name-${at - 1}`]: `${at}` },
      };
      expect(written(value)).toBe(JSON.stringify(value));
    }
  });

  it('keeps its bytes when something else is written', () => {
    const first = writer.write({ first: 1 });
    writer.write({ second: 2 });
    expect(first.toString()).toBe('{"first":1}');
  });
});
