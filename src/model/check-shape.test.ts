import { describe, expect, it } from 'vitest';
import { checkShape, joinPath } from './check-shape.js';

describe('the shape of what strangers send', () => {
  it('is fine when it is like any object', () => {
    expect(checkShape({ a: [1, { b: null }], constructor: 'x' })).toEqual([]);
    expect(checkShape(null)).toEqual([]);
  });

  it('is refused at every key that reaches a prototype', () => {
    const object = JSON.parse('{"a":[{"__proto__":{"x":1}}],"__proto__":1}') as unknown;
    expect(checkShape(object).map((error) => error.path)).toEqual(['__proto__', 'a[0].__proto__']);
  });

  it('is refused when it is nested more than 64 deep', () => {
    const nested = (levels: number): unknown =>
      JSON.parse(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`) as unknown;
    expect(checkShape(nested(65))).toEqual([]);
    expect(checkShape(nested(66))).toHaveLength(1);
  });

  it('has paths that people can read', () => {
    expect(joinPath('', 'spec')).toBe('spec');
    expect(joinPath('metadata.labels', 'berth.dev/x')).toBe('metadata.labels[berth.dev/x]');
    expect(joinPath('spec', 'x'.repeat(500))).toHaveLength('spec[]'.length + 129);
  });
});
