import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { scenarios } from '../src/simulate/scenarios/all.js';
import { projectRoot } from './source-tree.js';

it('docs/FAILURES.md names proofs that are there, and every row has one or says that it has none', () => {
  const page = readFileSync(join(projectRoot, 'docs/FAILURES.md'), 'utf8');
  const rows = page.split('\n').filter((line) => /^\| (?!what goes wrong|---)/.test(line));
  expect(rows.length).toBeGreaterThan(25);
  const known = new Set(scenarios.map(({ name }) => name));
  for (const row of rows) {
    const proof = row.split('|')[5] ?? '';
    const named = [...proof.matchAll(/`([^`]+)`/g)].map(([, name]) => name ?? '');
    for (const name of named.filter((one) => !one.startsWith('--'))) expect(known, row).toContain(name);
    const files = [...proof.matchAll(/src\/[\w/.-]+\.test\.ts/g)].map(([path]) => path);
    for (const path of files) expect(existsSync(join(projectRoot, path)), path).toBe(true);
    expect(named.length + files.length > 0 || proof.trim() === 'none', row).toBe(true);
  }
});
