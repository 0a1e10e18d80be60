import { describe, expect, it } from 'vitest';
import type { BerthObject } from './object.js';
import { FakeObjects, objectOf } from './fake-objects.fixture.js';
import { ObjectIndex } from './object-index.js';

const member = (name: string, group: string): BerthObject =>
  objectOf('Thing', 't', name, { spec: { group } });

describe('ObjectIndex', () => {
  it('knows the members of a group through additions, moves, deletions and gaps', () => {
    const objects = new FakeObjects();
    const index = new ObjectIndex<BerthObject>(objects, 'Thing', ({ spec }) => String(spec?.['group']));
    const names = (group: string): string[] => [...index.of(group)].map(({ metadata }) => metadata.name);
    objects.put(member('a', 'x'));
    const stop = new AbortController();
    index.start(stop.signal);
    objects.put(member('b', 'x'));
    objects.put(objectOf('Other', 't', 'c', { spec: { group: 'x' } }));
    expect(names('x')).toEqual(['a', 'b']);
    objects.put(member('b', 'y'));
    expect([names('x'), names('y')]).toEqual([['a'], ['b']]);
    objects.remove('Thing', 't', 'a');
    expect([...index.groups()]).toEqual(['y']);
    objects.putUnseen(member('d', 'x'));
    expect(names('x')).toEqual([]);
    objects.gap();
    expect(names('x')).toEqual(['d']);
    stop.abort();
    expect(objects.followers).toBe(0);
  });

  it('knows whether it is behind what the cache shows already', () => {
    const objects = new FakeObjects();
    const index = new ObjectIndex<BerthObject>(objects, 'Thing', () => 'all');
    objects.put(member('a', 'x'));
    index.start(new AbortController().signal);
    expect(index.isAsNewAs(objects.version), 'all was listed').toBe(true);
    objects.putUnseen(member('b', 'x'));
    expect(index.isAsNewAs(objects.version)).toBe(false);
    objects.put(objectOf('Other', 't', 'c'));
    expect(index.isAsNewAs(objects.version), 'changes of other kinds tell too').toBe(true);
    objects.remove('Thing', 't', 'a');
    expect(index.isAsNewAs(objects.version), 'what was deleted was older').toBe(true);
  });
});
