import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  findCycle,
  parseSource,
  projectRoot,
  reachableFrom,
  readSources,
  type SourceFile,
} from './source-tree.js';

/** Which folders of src a folder may import, besides env and model (DESIGN §2). */
const arrows: Record<string, readonly string[]> = {
  env: [],
  model: [],
  store: [],
  objects: ['store'],
  commit: ['store', 'objects'],
  client: [],
  observe: [],
  propose: ['observe'],
  reconcile: ['observe'],
  agent: [],
  serve: ['objects', 'commit'],
  simulate: ['store', 'objects', 'commit', 'client', 'observe', 'propose', 'reconcile', 'agent'],
  main: [
    'store',
    'objects',
    'commit',
    'client',
    'observe',
    'propose',
    'reconcile',
    'agent',
    'serve',
    'simulate',
  ],
  cli: ['client', 'main'],
};

const isTest = (path: string): boolean => /\.(test|fixture)\.ts$/.test(path);
const folderOf = (path: string): string | undefined => /^src\/([^/]+)\//.exec(path)?.[1];

function wrongArrows(file: SourceFile): string[] {
  const folder = folderOf(file.path);
  if (folder === undefined) return [];
  const allowed = arrows[folder];
  if (allowed === undefined) return [`${file.path}: src/${folder} is not a folder of the design`];
  return [...file.imports, ...file.typeOnlyImports]
    .filter((target) => {
      if (target.startsWith('testing/')) return !isTest(file.path);
      const to = folderOf(target);
      if (to === undefined) return true;
      if (to === folder || allowed.includes(to)) return false;
      return to === 'env' ? folder === 'model' : to === 'model' ? folder === 'env' : true;
    })
    .map((target) => `${file.path} must not import ${target}`);
}

const sources = readSources();
const packageJson = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as {
  bin: Record<string, string>;
  exports: Record<string, string>;
  scripts: Record<string, string>;
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
};
const sourceOf = (built: string): string => built.replace(/^(\.\/)?dist\//, '').replace(/\.js$/, '.ts');

describe('the source tree', () => {
  it('imports only along the arrows of the design', () => {
    expect(sources.flatMap(wrongArrows)).toEqual([]);
  });

  it('has no circle of imports', () => {
    expect(findCycle(sources)).toBeUndefined();
  });

  it('imports only files that are there', () => {
    const missing = sources.flatMap((file) =>
      file.imports
        .filter((target) => !existsSync(join(projectRoot, target)))
        .map((target) => `${file.path}: ${target}`),
    );
    expect(missing).toEqual([]);
  });

  it('reaches time, timers and randomness only through env', () => {
    // Keys are secrets that only the machine can make, and a simulated world speaks no TLS.
    const makesKeys = ['sign-certificate.ts', 'certificate-request.ts'].map(
      (name) => `src/serve/identity/${name}`,
    );
    const outside = sources.filter(
      ({ path }) =>
        path.startsWith('src/') && folderOf(path) !== 'env' && !isTest(path) && !makesKeys.includes(path),
    );
    expect(outside.flatMap((file) => file.doors)).toEqual([]);
    expect(
      sources.find((file) => file.path === 'src/env/real.ts')?.doors,
      'the check sees nothing',
    ).not.toEqual([]);
  });

  it('declares every package it imports, and ships only with what it needs', () => {
    const shipped = sources.filter(({ path }) => path.startsWith('src/') && !isTest(path));
    const inDevelopment = sources.filter((file) => !shipped.includes(file));
    const undeclared = (files: readonly SourceFile[], ...declared: object[]): string[] =>
      files.flatMap((file) =>
        file.packages
          .filter((name) => !declared.some((list) => name in list))
          .map((name) => `${file.path}: ${name}`),
      );
    const { dependencies, devDependencies } = packageJson;
    expect(undeclared(shipped, dependencies)).toEqual([]);
    expect(undeclared(inDevelopment, dependencies, devDependencies)).toEqual([]);
  });

  it('uses every package it declares', () => {
    const imported = new Set(sources.flatMap((file) => file.packages));
    const shippedImports = new Set(
      sources.filter(({ path }) => path.startsWith('src/') && !isTest(path)).flatMap((file) => file.packages),
    );
    const tools = ['Makefile', 'vitest.config.mjs', 'testing/build.mjs', 'testing/test.mjs', 'package.json']
      .map((file) =>
        readFileSync(join(projectRoot, file), 'utf8').replace(/"(dev)?[dD]ependencies": \{[^}]*\}/g, ''),
      )
      .join('\n');
    // Loaded by another tool, never named by us.
    const indirect = new Map([
      ['@types/node', 'tsconfig.json, types'],
      ['oxlint-tsgolint', 'oxlint, typeAware'],
    ]);
    const unused = [
      ...Object.keys(packageJson.dependencies).filter((name) => !shippedImports.has(name)),
      ...Object.keys(packageJson.devDependencies).filter(
        (name) => !imported.has(name) && !tools.includes(name) && !indirect.has(name),
      ),
    ];
    expect(unused).toEqual([]);
  });

  it('has no file that nothing reaches', () => {
    const entries = [...Object.values(packageJson.bin), ...Object.values(packageJson.exports)]
      .filter((target) => target.endsWith('.js'))
      .map(sourceOf);
    const production = reachableFrom(sources, [
      ...[...entries, 'bench/run.ts', 'testing/docs-tables.ts', 'testing/nightly.ts'],
    ]);
    const tests = reachableFrom(
      sources,
      sources.filter((file) => file.path.endsWith('.test.ts')).map((file) => file.path),
    );
    const testTexts = sources.filter((file) => file.path.endsWith('.test.ts')).map((file) => file.text);
    const unreached = sources
      .map((file) => file.path)
      .filter((path) => {
        if (path.endsWith('.test.ts')) return false;
        const name = path.split('/').at(-1)?.replace(/\.ts$/, '.js') ?? '';
        if (path.endsWith('.fixture.ts')) return !testTexts.some((text) => text.includes(name));
        return path.startsWith('testing/')
          ? !tests.has(path) && !production.has(path)
          : !production.has(path);
      });
    expect(unreached).toEqual([]);
  });

  it('names no host, path or person of where it was made', () => {
    const lock = readFileSync(join(projectRoot, 'package-lock.json'), 'utf8');
    expect(lock).not.toContain('"resolved"');
    for (const file of sources) expect(file.text, file.path).not.toMatch(/["'`]\/(root|home|work)\//);
  });
});

describe('the checks of the source tree', () => {
  const bad = (path: string, text: string): SourceFile => parseSource(path, text);

  it('notice a wrong arrow', () => {
    expect(wrongArrows(bad('src/store/x.ts', `import { y } from '../commit/y.js';`))).toHaveLength(1);
    expect(wrongArrows(bad('src/store/x.ts', `import type { Y } from '../objects/y.js';`))).toHaveLength(1);
    expect(wrongArrows(bad('src/store/x.ts', `import { y } from '../../testing/y.js';`))).toHaveLength(1);
    expect(wrongArrows(bad('src/commit/x.ts', `export { y } from '../serve/y.js';`))).toHaveLength(1);
    expect(wrongArrows(bad('src/commit/x.ts', `await import('../serve/y.js');`))).toHaveLength(1);
    expect(wrongArrows(bad('src/misc/x.ts', ``))).toHaveLength(1);
    expect(wrongArrows(bad('src/commit/x.ts', `import { y } from '../store/y.js';`))).toEqual([]);
  });

  it('notice a circle', () => {
    const a = bad('src/store/a.ts', `import './b.js';`);
    const b = bad('src/store/b.ts', `import type { C } from './c.js';`);
    const c = bad('src/store/c.ts', `export * from './a.js';`);
    expect(findCycle([a, b, c])).toEqual([
      'src/store/a.ts',
      'src/store/b.ts',
      'src/store/c.ts',
      'src/store/a.ts',
    ]);
    expect(findCycle([a, b])).toBeUndefined();
  });

  it.each([
    'Date.now();',
    'new Date();',
    'Math.random();',
    'performance.now();',
    'setTimeout(() => {}, 1);',
    'globalThis.setTimeout(() => {}, 1);',
    'process.hrtime.bigint();',
    'crypto.randomUUID();',
    `import { setTimeout } from 'node:timers/promises';`,
    `import { randomUUID } from 'node:crypto';`,
    `import crypto from 'node:crypto';`,
    `import { uptime } from 'node:os';`,
    `import { webcrypto } from 'node:crypto';`,
    `import process from 'node:process';`,
    `import { createRequire } from 'node:module';`,
    `export { setTimeout } from 'node:timers';`,
    `await import('node:timers/promises');`,
    'Date();',
    'const { now } = Date;',
    `Date['now']();`,
    'const { random } = Math;',
    `Math['random']();`,
    'const later = setTimeout;',
    '[1].map(setTimeout);',
    `globalThis['setTimeout'](() => {}, 1);`,
    'AbortSignal.timeout(5);',
  ])('notice the door %s', (text) => {
    expect(bad('src/store/x.ts', text).doors).not.toEqual([]);
  });

  it('do not mind what only looks like a door', () => {
    const text = `import { createHash } from 'node:crypto'; new Date(5); env.random.float(); Math.max(1, 2);
      process.exit(1); const known: Date = x; y instanceof Date; Date.parse('x'); ({ setTimeout: 1 }).setTimeout;`;
    expect(bad('src/store/x.ts', text).doors).toEqual([]);
  });
});
