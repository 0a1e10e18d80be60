import { describe, expect, it } from 'vitest';
import type { TSchema } from 'typebox';
import { builtInObjects } from './built-in-objects.js';
import { example } from './example.fixture.js';
import { apiVersionOf } from './kind.js';
import { kindCalled, kindNamed, kinds, nearestKind } from './kinds.js';
import { openApiComponents } from './openapi.js';
import { Validator } from './validate.js';

const validator = new Validator();

/** Every schema within a schema, with its path. */
function* walk(
  schema: TSchema,
  path: string,
): Generator<{ path: string; schema: Readonly<Record<string, unknown>> }> {
  const fields = schema as Readonly<Record<string, unknown>>;
  yield { path, schema: fields };
  for (const [name, inner] of Object.entries(fields['properties'] ?? {}))
    yield* walk(inner as TSchema, `${path}.${name}`);
  if (typeof fields['items'] === 'object') yield* walk(fields['items'] as TSchema, `${path}[]`);
  if (typeof fields['additionalProperties'] === 'object')
    yield* walk(fields['additionalProperties'] as TSchema, `${path}{}`);
}

describe('the kinds', () => {
  it('are found by every name that people use, and none is used twice', () => {
    const names = kinds.flatMap(({ plural, singular, shortNames }) => [
      ...new Set([plural, singular]),
      ...shortNames,
    ]);
    expect(new Set(names).size).toBe(names.length);
    for (const kind of kinds) {
      expect(kindNamed(kind.kind)).toBe(kind);
      expect(kindNamed(kind.kind, apiVersionOf(kind))).toBe(kind);
      for (const name of [kind.plural, kind.singular, ...kind.shortNames, kind.plural.toUpperCase()]) {
        expect(kindCalled(name)).toBe(kind);
      }
    }
    expect(kindCalled('workloads.berth.dev')?.kind).toBe('Workload');
    expect(kindCalled('workloads.example.com')).toBeUndefined();
    expect(kindNamed('Workload', 'v1')).toBeUndefined();
    expect(kindNamed('Event', 'v1')?.kind).toBe('Event');
    expect(kindNamed('constructor')).toBeUndefined();
  });

  it('have a nearest name for typos', () => {
    expect(nearestKind('worklods')).toBe('workloads');
    expect(nearestKind('Nodez')).toBe('nodes');
    expect(nearestKind('banana')).toBeUndefined();
  });

  it.each(kinds.map((kind) => [kind.kind, kind] as const))(
    '%s describes every field and closes every object',
    (_, kind) => {
      expect(kind.description).not.toBe('');
      for (const [name, field] of Object.entries(kind.fields)) {
        for (const { path, schema } of walk(field, name)) {
          expect(schema['description'], path).toMatch(/^[A-Z].{3,}[.:)…]/s);
          if (schema['type'] === 'object') expect(schema, path).toHaveProperty('additionalProperties');
          if (schema['type'] === 'array')
            expect(schema['x-kubernetes-list-type'], path).toMatch(/^(map|set|atomic)$/);
          if (schema['x-kubernetes-list-type'] === 'map') {
            const keys = schema['x-kubernetes-list-map-keys'] as string[];
            const items = schema['items'] as { required?: string[] };
            for (const key of keys) expect(items.required, path).toContain(key);
          }
        }
      }
    },
  );

  it.each(kinds.map((kind) => [kind.kind, kind] as const))(
    '%s has columns that show fields it has',
    (_, kind) => {
      expect(kind.columns.length).toBeGreaterThan(1);
      expect(new Set(kind.columns.map((each) => each.name)).size).toBe(kind.columns.length);
      const paths = Object.entries(kind.fields).flatMap(([name, field]) =>
        [...walk(field, name)].map(({ path }) => path),
      );
      const isField = (path: string): boolean => path.startsWith('metadata.') || paths.includes(path);
      for (const { value } of kind.columns) {
        if (typeof value === 'string') expect(isField(value.replace(/^\./, '')), value).toBe(true);
        else expect(() => value(example(kind, {}))).not.toThrow();
      }
      // A selector reads through lists without saying so.
      const selectable = new Set(paths.map((path) => path.replaceAll('[]', '')));
      for (const field of kind.selectableFields) expect(selectable.has(field), field).toBe(true);
      const { specReplicas, statusReplicas, selector } = kind.scale ?? {};
      for (const path of [specReplicas, statusReplicas, selector]) {
        if (path !== undefined) expect(isField(path.slice(1)), path).toBe(true);
      }
    },
  );

  it.each(kinds.map((kind) => [kind.kind, kind] as const))(
    '%s takes any input to its defaults, and twice is like once',
    (_, kind) => {
      for (const spec of [
        undefined,
        null,
        1,
        'x',
        [],
        {},
        { template: 7, placement: [], taints: null, onNodeLost: 'x' },
      ]) {
        const once = kind.withDefaults(example(kind, spec === undefined ? {} : { spec }));
        expect(kind.withDefaults(once)).toEqual(once);
        expect(Array.isArray(validator.validate(kind, once))).toBe(true);
      }
    },
  );

  it('include what exists from the start, which is valid', () => {
    expect(builtInObjects.map((object) => `${object.kind} ${object.metadata.name}`)).toEqual([
      'Tenant default',
      'Region local',
      'PriorityClass default',
    ]);
    for (const { kind, metadata, spec } of builtInObjects) {
      const definition = kindNamed(kind);
      if (definition === undefined) return expect.unreachable();
      const object = definition.withDefaults(example(definition, { spec }, metadata.name));
      expect(validator.validate(definition, object)).toEqual([]);
    }
  });

  it('have schemas that the strict compiler takes', () => {
    for (const kind of kinds) expect(() => validator.prepare(kind), kind.kind).not.toThrow();
  });

  it('all have a schema for clients', () => {
    expect(Object.keys(openApiComponents(kinds))).toHaveLength(2 * kinds.length + 2);
  });
});
