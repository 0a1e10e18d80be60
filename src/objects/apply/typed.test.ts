import { describe, expect, it } from 'vitest';
import { isBerthError } from '../../model/errors.js';
import { FieldSet } from './field-set.js';
import { compareValues, extractFields, fieldsOf, removeFields } from './typed.js';
import { schema, type Fields } from './workload.fixture.js';

const env = (name: string, value: string): Fields => ({ name, value });
const set = (json: object): FieldSet => FieldSet.fromFieldsV1(JSON.parse(JSON.stringify(json)));
const compared = (before: unknown, after: unknown): Fields => {
  const { added, modified, removed } = compareValues(before, after, schema);
  return { added: added.toFieldsV1(), modified: modified.toFieldsV1(), removed: removed.toFieldsV1() };
};

describe('the fields of a value', () => {
  it('are its leaves, its empty maps and lists, and the items of keyed lists', () => {
    const value = {
      spec: {
        replicas: 2,
        command: ['a'],
        zones: ['b', 'a'],
        nodeSelector: { pool: 'gpu' },
        near: { region: 'eu' },
        env: [env('A', '1')],
        ports: [],
      },
      status: {},
    };
    expect(fieldsOf(value, schema).toFieldsV1()).toEqual({
      'f:spec': {
        'f:command': {},
        'f:env': { 'k:{"name":"A"}': { '.': {}, 'f:name': {}, 'f:value': {} } },
        'f:near': {},
        'f:nodeSelector': { 'f:pool': {} },
        'f:ports': {},
        'f:replicas': {},
        'f:zones': { 'v:"a"': {}, 'v:"b"': {} },
      },
      'f:status': {},
    });
  });
});

describe('comparing values', () => {
  it('finds what came, what changed and what went', () => {
    const before = {
      spec: { replicas: 1, suspend: true, env: [env('A', '1'), env('B', '1')], zones: ['a'] },
    };
    const after = { spec: { replicas: 2, env: [env('C', '1'), env('A', '2')], zones: ['a', 'b'] } };
    expect(compared(before, after)).toEqual({
      added: {
        'f:spec': {
          'f:env': { 'k:{"name":"C"}': { '.': {}, 'f:name': {}, 'f:value': {} } },
          'f:zones': { 'v:"b"': {} },
        },
      },
      modified: { 'f:spec': { 'f:env': { 'k:{"name":"A"}': { 'f:value': {} } }, 'f:replicas': {} } },
      removed: {
        'f:spec': {
          'f:env': { 'k:{"name":"B"}': { '.': {}, 'f:name': {}, 'f:value': {} } },
          'f:suspend': {},
        },
      },
    });
  });

  it('names the maps that came or went with their fields', () => {
    expect(compared({}, { spec: { nodeSelector: { a: 'b' } } })['added']).toEqual({
      'f:spec': { '.': {}, 'f:nodeSelector': { '.': {}, 'f:a': {} } },
    });
  });

  it('sees no change in another order', () => {
    const nothing = { added: {}, modified: {}, removed: {} };
    expect(
      compared(
        { spec: { env: [env('A', '1'), env('B', '2')] } },
        { spec: { env: [env('B', '2'), env('A', '1')] } },
      ),
    ).toEqual(nothing);
    expect(compared({ spec: { near: { a: 1, b: 2 } } }, { spec: { near: { b: 2, a: 1 } } })).toEqual(nothing);
  });

  it('takes a value of another form as changed, with what was beneath', () => {
    expect(compared({ spec: { nodeSelector: { a: 'b' } } }, { spec: { nodeSelector: 'x' } })).toEqual({
      added: {},
      modified: { 'f:spec': { 'f:nodeSelector': {} } },
      removed: { 'f:spec': { 'f:nodeSelector': { 'f:a': {} } } },
    });
  });

  it('refuses values without end, also inside a leaf', () => {
    const deep = (open: string, close: string): unknown =>
      JSON.parse(`{"spec":{"command":${open.repeat(3_000)}1${close.repeat(3_000)}}}`);
    const tooDeep: unknown = expect.toSatisfy((error) => isBerthError(error, 'TooDeep'));
    expect(() => fieldsOf(deep('{"a":', '}'), schema)).toThrow(tooDeep);
    expect(() => compareValues(deep('[', ']'), deep('[', ']'), schema)).toThrow(tooDeep);
  });
});

describe('taking fields out', () => {
  const value = {
    spec: { replicas: 1, env: [{ ...env('A', '1'), secret: 's' }, env('B', '2')], zones: ['a', 'b'] },
  };
  const itemA = (fields: object): FieldSet => set({ 'f:spec': { 'f:env': { 'k:{"name":"A"}': fields } } });

  it('extracts the fields asked for, items with their keys', () => {
    const wanted = itemA({ 'f:value': {} }).union(set({ 'f:spec': { 'f:zones': { 'v:"b"': {} } } }));
    expect(extractFields(value, wanted, schema)).toEqual({ spec: { env: [env('A', '1')], zones: ['b'] } });
  });

  it('removes an item with all of it', () => {
    expect(
      removeFields(value, itemA({ '.': {}, 'f:name': {}, 'f:value': {} }), FieldSet.empty, schema),
    ).toEqual({
      spec: { ...value.spec, env: [env('B', '2')] },
    });
  });

  it('leaves an item its keys and what is kept', () => {
    const gone = itemA({ '.': {}, 'f:name': {}, 'f:value': {} });
    expect(removeFields(value, gone, itemA({ 'f:secret': {} }), schema)).toEqual({
      spec: { ...value.spec, env: [{ name: 'A', secret: 's' }, env('B', '2')] },
    });
  });

  it('removes what it empties, unless that is kept', () => {
    const one = { spec: { nodeSelector: { a: 'b' } } };
    const gone = set({ 'f:spec': { 'f:nodeSelector': { 'f:a': {} } } });
    expect(removeFields(one, gone, FieldSet.empty, schema)).toBeUndefined();
    expect(removeFields(one, gone, set({ 'f:spec': { 'f:nodeSelector': {} } }), schema)).toEqual({
      spec: { nodeSelector: {} },
    });
  });
});
