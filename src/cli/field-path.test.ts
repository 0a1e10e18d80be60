import { describe, expect, it } from 'vitest';
import { nearestField, parseFieldPath, valueAt } from './field-path.js';

describe('paths to fields', () => {
  it.each([
    { text: '.spec.replicas', path: ['spec', 'replicas'] },
    { text: '{.spec.replicas}', path: ['spec', 'replicas'] },
    { text: 'spec.list[2].name', path: ['spec', 'list', 2, 'name'] },
    { text: `{$.metadata.labels['a.b/c']}`, path: ['metadata', 'labels', 'a.b/c'] },
    { text: '.metadata.labels["x y"]', path: ['metadata', 'labels', 'x y'] },
  ])('reads $text', ({ text, path }) => {
    expect(parseFieldPath(text, '--x')).toEqual(path);
  });

  it.each(['', '{}', '..a', '.a[', '.a[x]', '.a[*]', '{.a', '.a b'])(
    'refuses %j, naming the option',
    (text) => {
      expect(() => parseFieldPath(text, '--sort-by')).toThrow(/^--sort-by: /);
    },
  );

  it('finds values, and nothing that an object only inherits', () => {
    const object = { spec: { list: [{ name: 'a' }], none: null } };
    expect(valueAt(object, ['spec', 'list', 0, 'name'])).toBe('a');
    expect(valueAt(object, ['spec', 'none', 'x'])).toBeUndefined();
    expect(valueAt(object, ['toString'])).toBeUndefined();
  });

  it('knows what a mistyped name was meant to be', () => {
    expect(nearestField({ spec: { replicas: 1 } }, ['spec', 'replcas'])).toBe('replicas');
    expect(nearestField({ spec: { replicas: 1 } }, ['spec', 'replicas'])).toBeUndefined();
  });
});
