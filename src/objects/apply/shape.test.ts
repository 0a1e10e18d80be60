import { describe, expect, it } from 'vitest';
import { rootNode, sameJson, shapeOf } from './shape.js';

const elements = (value: unknown, schema?: unknown): string[] | 'Leaf' => {
  const shape = shapeOf(rootNode(value, schema));
  return shape.kind === 'Leaf' ? 'Leaf' : [...shape.children.keys()];
};
const byName = { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] };

describe('the shape of a value', () => {
  it('is deduced without a schema: objects field by field, lists as a whole', () => {
    expect(elements({ a: 1, b: undefined, c: null })).toEqual(['f:a', 'f:c']);
    expect(elements([1])).toBe('Leaf');
    expect(elements('x')).toBe('Leaf');
  });

  it('follows the annotations', () => {
    expect(elements({ a: 1 }, { 'x-kubernetes-map-type': 'atomic' })).toBe('Leaf');
    expect(elements(['a', 'b'], { 'x-kubernetes-list-type': 'set' })).toEqual(['v:"a"', 'v:"b"']);
    expect(elements([{ name: 'a' }], byName)).toEqual(['k:{"name":"a"}']);
  });

  it('finds annotations behind a union', () => {
    expect(elements(['a'], { anyOf: [{ type: 'null' }, { 'x-kubernetes-list-type': 'set' }] })).toEqual([
      'v:"a"',
    ]);
  });

  it('fills in a key that has a default, and leaves out one that has none', () => {
    const ports = (protocol: object): object => ({
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['number', 'protocol'],
      items: { properties: { protocol } },
    });
    expect(elements([{ number: 80 }], ports({ default: 'TCP' }))).toEqual([
      'k:{"number":80,"protocol":"TCP"}',
    ]);
    expect(elements([{ number: 80 }], ports({}))).toEqual(['k:{"number":80}']);
    expect(elements([{}], ports({ default: 'TCP' }))).toBe('Leaf');
  });

  it.each([
    ['a string', 'x'],
    ['items that are no objects', ['x']],
    ['items without a key', [{ value: 'x' }]],
    ['a key that is no scalar', [{ name: {} }]],
    ['one key twice', [{ name: 'a' }, { name: 'a' }]],
  ])('is a leaf where a keyed list has %s', (_, value) => {
    expect(elements(value, byName)).toBe('Leaf');
  });

  it('is a leaf where a set has a value twice, or one that is no scalar', () => {
    for (const value of [['a', 'a'], [{}]])
      expect(elements(value, { 'x-kubernetes-list-type': 'set' })).toBe('Leaf');
  });

  it('does not take what objects inherit for a schema', () => {
    const shape = shapeOf(
      rootNode(JSON.parse('{"constructor":{"a":1},"__proto__":[1]}'), { properties: {} }),
    );
    expect(shape.kind === 'Leaf' ? [] : [...shape.children]).toEqual([
      ['f:constructor', expect.objectContaining({ schema: undefined })],
      ['f:__proto__', expect.objectContaining({ value: [1], schema: undefined })],
    ]);
  });

  it('compares JSON by meaning', () => {
    expect(sameJson({ a: [1, { b: null }], c: 2 }, { c: 2, a: [1, { b: null }] }, 0)).toBe(true);
    expect(sameJson([1, 2], [2, 1], 0)).toBe(false);
    expect(sameJson({ a: 1 }, JSON.parse('{"__proto__":1}'), 0)).toBe(false);
    expect(sameJson({}, [], 0)).toBe(false);
    expect(sameJson({}, null, 0)).toBe(false);
  });
});
