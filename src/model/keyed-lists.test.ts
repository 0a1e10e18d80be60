import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { keyedListErrors } from './keyed-lists.js';

function duplicates(schema: object, list: unknown): string[] {
  const ajv = new Ajv({ allErrors: true });
  ajv.addVocabulary(['x-kubernetes-list-map-keys']);
  ajv.addKeyword({
    keyword: 'x-kubernetes-list-type',
    type: 'array',
    errors: 'full',
    validate: keyedListErrors,
  });
  const check = ajv.compile({ type: 'object', properties: { list: { type: 'array', ...schema } } });
  check({ list });
  return (check.errors ?? []).map((error) => `${error.instancePath} ${error.message}`);
}

describe('lists with keys', () => {
  it('have no two entries with the same keys', () => {
    const byTwo = { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['key', 'effect'] };
    expect(
      duplicates(byTwo, [
        { key: 'a', effect: 'x' },
        { key: 'a', effect: 'y' },
      ]),
    ).toEqual([]);
    expect(
      duplicates(byTwo, [
        { key: 'a', effect: 'x' },
        { key: 'a', effect: 'x', value: 1 },
      ]),
    ).toEqual(['/list/1 the same key and effect is there twice']);
    expect(duplicates(byTwo, [null, 1])).toHaveLength(1);
  });

  it('that are sets have no two equal entries; others may', () => {
    expect(duplicates({ 'x-kubernetes-list-type': 'set' }, ['a', 'b', 'a', 'a'])).toEqual([
      '/list/2 is there twice',
      '/list/3 is there twice',
    ]);
    expect(duplicates({ 'x-kubernetes-list-type': 'set' }, ['1', 1])).toEqual([]);
    expect(duplicates({ 'x-kubernetes-list-type': 'atomic' }, ['a', 'a'])).toEqual([]);
  });
});
