import { describe, expect, it } from 'vitest';
import { KindLookup, pathIn, type ServedKind } from './kind-lookup.js';
import { oneTarget, targetsOf } from './object-words.js';

const kind = (name: string, more: Partial<ServedKind> = {}): ServedKind => ({
  group: 'berth.dev',
  version: 'v1',
  kind: name,
  plural: `${name.toLowerCase()}s`,
  singular: name.toLowerCase(),
  shortNames: [],
  categories: [],
  isNamespaced: true,
  verbs: ['get', 'list'],
  ...more,
});
const workload = kind('Workload', { shortNames: ['wl'], categories: ['all'] });
const tenant = kind('Tenant', { isNamespaced: false });
const event = kind('Event', { group: '' });
const kinds = new KindLookup([workload, tenant, event]);

describe('kinds by what people type', () => {
  it.each(['workloads', 'workload', 'WL', 'Workload', 'workloads.berth.dev', 'workload.v1.berth.dev'])(
    '%s is the kind Workload',
    (word) => {
      expect(kinds.find(word)).toBe(workload);
    },
  );

  it('a kind of another group is none, and a typo is told the nearest', () => {
    expect(kinds.lookUp('workloads.apps')).toBeUndefined();
    expect(() => kinds.find('tennant')).toThrow('there is no kind "tennant"; did you mean tenant?');
    expect(() => kinds.find('pods')).toThrow('berth api-resources lists them');
  });

  it('a manifest is found by its apiVersion and kind together', () => {
    expect(kinds.ofManifest('v1', 'Event')).toBe(event);
    expect(kinds.ofManifest('berth.dev/v1', 'Event')).toBeUndefined();
  });

  it('what belongs to the cluster is looked for in no namespace', () => {
    expect(pathIn(tenant, 'fraud').namespace).toBeUndefined();
    expect(pathIn(workload, 'fraud').namespace).toBe('fraud');
  });
});

describe('objects by what people type', () => {
  it('reads each form', () => {
    expect(targetsOf(['wl', 'a', 'b'], kinds)).toEqual([{ kind: workload, names: ['a', 'b'] }]);
    expect(targetsOf(['wl,tenant,workload'], kinds)).toEqual([
      { kind: workload, names: [] },
      { kind: tenant, names: [] },
    ]);
    expect(targetsOf(['wl/a', 'tenant/b'], kinds)).toEqual([
      { kind: workload, names: ['a'] },
      { kind: tenant, names: ['b'] },
    ]);
    expect(targetsOf(['all'], kinds)).toEqual([{ kind: workload, names: [] }]);
    expect(oneTarget(['wl', 'a'], kinds)).toEqual({ kind: workload, name: 'a' });
  });

  it.each([
    { words: ['wl/a', 'b'], says: '"b": where one word is KIND/NAME, all must be' },
    { words: ['wl/'], says: '"wl/" is not of the form KIND/NAME' },
    { words: ['wl/a/b'], says: '"wl/a/b" is not of the form KIND/NAME' },
    { words: ['wl', ''], says: 'a kind or name is empty' },
  ])('refuses $words', ({ words, says }) => {
    expect(() => targetsOf(words, kinds)).toThrow(says);
  });

  it.each([[['wl']], [['wl', 'a', 'b']], [['wl/a', 'wl/b']]])('%j is not one object', (words) => {
    expect(() => oneTarget(words, kinds)).toThrow('one object is needed');
  });
});
