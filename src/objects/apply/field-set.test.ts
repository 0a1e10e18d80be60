import { describe, expect, it } from 'vitest';
import { isBerthError } from '../../model/errors.js';
import { FieldSet } from './field-set.js';

/** As an API server writes it for a Deployment, keys and order included. */
const fromServer =
  '{"f:metadata":{"f:annotations":{".":{},"f:example.com/a":{}},"f:finalizers":{".":{},"v:\\"keep\\"":{}},' +
  '"f:labels":{".":{},"f:app.kubernetes.io/name":{}},"f:ownerReferences":{".":{},"k:{\\"uid\\":\\"5e2f\\"}":{}}},' +
  '"f:spec":{"f:replicas":{},"f:template":{"f:spec":{"f:containers":{"k:{\\"name\\":\\"web\\"}":{".":{},' +
  '"f:image":{},"f:name":{},"f:ports":{".":{},"k:{\\"containerPort\\":80,\\"protocol\\":\\"TCP\\"}":{".":{},' +
  '"f:containerPort":{}},"k:{\\"containerPort\\":443,\\"protocol\\":\\"TCP\\"}":{".":{},"f:containerPort":{}}},' +
  '"f:resources":{}}}}}}}';

const read = (text: string): FieldSet => FieldSet.fromFieldsV1(JSON.parse(text));
const write = (set: FieldSet): string => JSON.stringify(set.toFieldsV1());

describe('a field set', () => {
  it('comes back from FieldsV1 byte by byte', () => {
    expect(write(read(fromServer))).toBe(fromServer);
  });

  it('is written in order, however it was built', () => {
    const set = FieldSet.ofPaths(['f:z'], ['f:a', 'v:10'], ['f:a', 'v:9'], ['f:a'], ['f:a', 'f:b']);
    expect(write(set)).toBe('{"f:a":{".":{},"f:b":{},"v:9":{},"v:10":{}},"f:z":{}}');
  });

  it('leaves out what it does not understand, and does not own the parent instead', () => {
    expect(
      write(read('{"f:a":{"i:0":{}},"f:b":{".":{},"i:1":{}},"x":{},"f:c":null,"f:d":[],"k:{":{}}')),
    ).toBe('{"f:b":{}}');
    for (const odd of [null, 'x', 5, [], undefined]) expect(FieldSet.fromFieldsV1(odd).isEmpty()).toBe(true);
  });

  it('keeps a field named __proto__ as any other', () => {
    const set = read('{"f:__proto__":{"f:polluted":{}},"f:constructor":{}}');
    expect(set.has(['f:__proto__', 'f:polluted'])).toBe(true);
    expect(write(set)).toBe('{"f:__proto__":{"f:polluted":{}},"f:constructor":{}}');
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  it('knows its members, not what is above or beneath them', () => {
    const set = FieldSet.ofPaths(['f:a', 'f:b']);
    expect(set.has(['f:a', 'f:b'])).toBe(true);
    expect(set.has(['f:a'])).toBe(false);
    expect(set.has(['f:a', 'f:b', 'f:c'])).toBe(false);
    expect(set.isEmpty()).toBe(false);
    expect(FieldSet.empty.isEmpty()).toBe(true);
  });

  it('unites, intersects and subtracts path by path', () => {
    const left = FieldSet.ofPaths(['f:a'], ['f:a', 'f:b'], ['f:c']);
    const right = FieldSet.ofPaths(['f:a', 'f:b'], ['f:d']);
    expect(write(left.union(right))).toBe('{"f:a":{".":{},"f:b":{}},"f:c":{},"f:d":{}}');
    expect(write(left.intersection(right))).toBe('{"f:a":{"f:b":{}}}');
    expect(write(left.difference(right))).toBe('{"f:a":{},"f:c":{}}');
    expect(left.difference(left).isEmpty()).toBe(true);
    expect(left.union(right).equals(right.union(left))).toBe(true);
    expect(left.equals(right)).toBe(false);
  });

  it('can be cut along subtrees', () => {
    const set = FieldSet.ofPaths(['f:a'], ['f:a', 'f:b'], ['f:c', 'f:d'], ['f:e']);
    const cover = FieldSet.ofPaths(['f:a'], ['f:c', 'f:d', 'f:x']);
    expect(write(set.within(cover))).toBe('{"f:a":{".":{},"f:b":{}}}');
    expect(write(set.outside(cover))).toBe('{"f:c":{"f:d":{}},"f:e":{}}');
  });

  it('lists its longest paths in order', () => {
    const set = FieldSet.ofPaths(['f:z'], ['f:a'], ['f:a', 'f:b']);
    expect(set.leaves()).toEqual([['f:a', 'f:b'], ['f:z']]);
  });

  it('refuses a tree without end', () => {
    const deep = '{"f:a":'.repeat(5_000) + '{}' + '}'.repeat(5_000);
    expect(() => read(deep)).toThrow(expect.toSatisfy((error) => isBerthError(error, 'TooDeep')));
  });
});
