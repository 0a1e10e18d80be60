import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { scratchDirectory } from '../../testing/scratch.js';
import { readManifests } from './manifests.js';

const manifest = (name: string): string => `apiVersion: v1\nkind: Thing\nmetadata: { name: ${name} }\n`;

describe('reading manifests', () => {
  let scratch: ReturnType<typeof scratchDirectory>;
  beforeEach(() => {
    scratch = scratchDirectory('manifests');
  });
  afterEach(() => scratch.remove());
  const write = (name: string, text: string): string => {
    const path = join(scratch.path, name);
    writeFileSync(path, text);
    return path;
  };
  const names = (...sources: string[]): string[] =>
    readManifests(sources, {}).manifests.map(({ name }) => name);

  it('takes several documents, JSON and Lists, and skips what is empty', () => {
    expect(names(write('a.yaml', `# nothing yet\n---\n${manifest('a')}---\n---\n${manifest('b')}`))).toEqual([
      'a',
      'b',
    ]);
    expect(names(write('b.json', '{"apiVersion":"v1","kind":"Thing","metadata":{"name":"c"}}'))).toEqual([
      'c',
    ]);
    const items = [{ apiVersion: 'v1', kind: 'Thing', metadata: { name: 'd', namespace: 'n' } }];
    expect(names(write('c.json', JSON.stringify({ apiVersion: 'v1', kind: 'List', items })))).toEqual(['d']);
  });

  it('reads the manifests of a directory in the order of their names, and deeper only if told to', () => {
    mkdirSync(join(scratch.path, 'deep'));
    write('2.yaml', manifest('two'));
    write('1.yml', manifest('one'));
    write('notes.txt', 'nothing');
    write('deep/3.json', '{"apiVersion":"v1","kind":"Thing","metadata":{"name":"three"}}');
    expect(names(scratch.path)).toEqual(['one', 'two']);
    const { manifests } = readManifests([scratch.path], { recursive: true });
    expect(manifests.map(({ name }) => name)).toEqual(['one', 'two', 'three']);
  });

  it.each([
    { text: 'a: [1', says: /^FILE:1:\d+: / },
    { text: 'just words', says: /^FILE:1: not an object with fields$/ },
    { text: 'apiVersion: v1\nkind: Thing\n', says: /^FILE:1: metadata is missing$/ },
    { text: 'kind: Thing\nmetadata: {name: x}\n', says: /^FILE:1: apiVersion is missing: such as/ },
    {
      text: `${manifest('x')}---\n\napiVersion: v1\nkind: 3\nmetadata: {name: x}\n`,
      says: /^FILE:6: kind is 3: a text is needed/,
    },
    { text: 'apiVersion: v1\nkind: Thing\nmetadata: [x]\n', says: /^FILE:1: metadata is \["x"\]: an object/ },
    { text: 'apiVersion: v1\nkind: List\nitems: [1]\n', says: /^FILE:1: items\[0\] is 1: an object/ },
  ])('names the place of what it cannot read: $says', ({ text, says }) => {
    const file = write('x.yaml', text);
    const [problem = ''] = readManifests([file], {}).problems;
    expect(problem.replace(file, 'FILE')).toMatch(says);
  });

  it('refuses a source that is not there', () => {
    expect(() => readManifests([join(scratch.path, 'nope')], {})).toThrow(/^-f .*nope: ENOENT/);
  });
});
