import { describe, expect, it } from 'vitest';
import { isBerthError } from '../model/errors.js';
import { patched } from './patch.js';

describe('a merge patch', () => {
  it.each([
    [{ a: 1, b: { c: 2, d: 3 } }, { b: { c: null, e: 4 } }, { a: 1, b: { d: 3, e: 4 } }],
    [{ a: [1, 2] }, { a: [3] }, { a: [3] }],
    [{ a: 'text' }, { a: { b: 1 } }, { a: { b: 1 } }],
    [{ a: 1 }, { b: { c: null } }, { a: 1, b: {} }],
  ])('makes of %j with %j: %j', (target, patch, expected) => {
    const before = structuredClone(target);
    expect(patched('merge', target, patch)).toEqual(expected);
    expect(target).toEqual(before);
  });

  it('does not reach a prototype', () => {
    const patch = JSON.parse(
      '{"__proto__": {"polluted": true}, "a": {"__proto__": {"polluted": true}}}',
    ) as unknown;
    const result = patched('merge', {}, patch) as Record<string, unknown>;
    expect(result).toEqual({ a: {} });
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    expect(result['polluted']).toBeUndefined();
  });
});

describe('a JSON patch', () => {
  it('applies its operations in order, all or none', () => {
    const target = { spec: { replicas: 1, list: ['a', 'b'] } };
    const patch = [
      { op: 'test', path: '/spec/replicas', value: 1 },
      { op: 'replace', path: '/spec/replicas', value: 2 },
      { op: 'add', path: '/spec/list/-', value: 'c' },
      { op: 'remove', path: '/spec/list/0' },
      { op: 'copy', from: '/spec/replicas', path: '/spec/copied' },
    ];
    expect(patched('json', target, patch)).toEqual({ spec: { replicas: 2, list: ['b', 'c'], copied: 2 } });
    expect(target.spec.replicas).toBe(1);
  });

  it.each([
    { patch: { op: 'add' }, code: 'BadRequest' as const, says: 'list of operations' },
    { patch: [{ op: 'grow', path: '/a' }], code: 'BadRequest' as const, says: 'op "grow"' },
    { patch: [{ op: 'add', path: 'a', value: 1 }], code: 'BadRequest' as const, says: 'not a JSON pointer' },
    {
      patch: [{ op: 'add', path: '/__proto__/x', value: 1 }],
      code: 'BadRequest' as const,
      says: 'names no field',
    },
    { patch: [{ op: 'test', path: '/a', value: 2 }], code: 'Invalid' as const, says: 'operation 0' },
    { patch: [{ op: 'remove', path: '/nowhere' }], code: 'Invalid' as const, says: '/nowhere' },
    { patch: ['words'], code: 'BadRequest' as const, says: 'not an object' },
  ])('$patch is refused', ({ patch, code, says }) => {
    expect(() => patched('json', { a: 1 }, patch)).toThrow(says);
    try {
      patched('json', { a: 1 }, patch);
    } catch (error) {
      expect(isBerthError(error, code)).toBe(true);
    }
  });
});
