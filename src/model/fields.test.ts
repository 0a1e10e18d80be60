import type { Static } from 'typebox';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { choice, count, listByKey, listOf, mapOf, quantity, record, setOf, text } from './fields.js';

describe('the words that kinds are written in', () => {
  const thing = record(
    'A thing.',
    { name: text('Its name.'), mode: choice('How.', ['On', 'Off']) },
    { size: quantity('How large.', 'bytes'), parts: listOf('Its parts.', count('A part.')) },
  );

  it('carry static types that are read-only and know what is optional', () => {
    expectTypeOf<Static<typeof thing>>().toEqualTypeOf<{
      readonly name: string;
      readonly mode: 'On' | 'Off';
      readonly size?: string | number;
      readonly parts?: readonly number[];
    }>();
  });

  it('make closed objects that say what is required', () => {
    expect(thing).toMatchObject({
      type: 'object',
      additionalProperties: false,
      required: ['name', 'mode'],
      description: 'A thing.',
    });
    expect(record('Empty.', {})).not.toHaveProperty('required');
  });

  it('make maps by additionalProperties, and lists that say how they are merged', () => {
    expect(mapOf('A map.', count('A value.'))).toMatchObject({ additionalProperties: { type: 'integer' } });
    expect(listByKey('A list.', ['name'], thing)).toMatchObject({
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
    });
    expect(setOf('A set.', text('A word.'))).toMatchObject({
      'x-kubernetes-list-type': 'set',
      maxItems: 1_024,
    });
  });
});
