import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fillIn, valueAt } from './fill-in.js';

describe('filling in', () => {
  it('takes only what is missing from the defaults', () => {
    expect(fillIn({ a: 1, b: { c: 2 }, n: null }, { a: 9, b: { c: 9, d: 3 }, n: 4, e: [5] })).toEqual({
      a: 1,
      b: { c: 2, d: 3 },
      n: 4,
      e: [5],
    });
  });

  it('leaves alone what is no object, and never merges lists', () => {
    expect(fillIn('text', { a: 1 })).toBe('text');
    expect(fillIn({ a: [1] }, { a: [2, 3] })).toEqual({ a: [1] });
    expect(fillIn(undefined, { a: 1 })).toEqual({ a: 1 });
  });

  it('keeps the same value when nothing is missing, and keys of any name', () => {
    const full = JSON.parse('{"a":1,"__proto__":{"a":2}}') as unknown;
    expect(fillIn(full, { a: 7 })).toBe(full);
    const filled = fillIn(full, { b: 7 }) as object;
    expect(Object.keys(filled)).toEqual(['a', '__proto__', 'b']);
    expect(Object.getPrototypeOf(filled)).toBe(Object.prototype);
  });

  it('changes nothing the second time, whatever the value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const once = fillIn(value, { a: 1, b: { c: true } });
        expect(fillIn(once, { a: 1, b: { c: true } })).toBe(once);
      }),
    );
  });

  it('looks only at own fields', () => {
    expect(valueAt({ a: { b: 1 } }, 'a', 'b')).toBe(1);
    expect(valueAt({ a: [1] }, 'a', '0')).toBeUndefined();
    expect(valueAt({}, 'constructor', 'name')).toBeUndefined();
    expect(valueAt(null, 'a')).toBeUndefined();
  });
});
