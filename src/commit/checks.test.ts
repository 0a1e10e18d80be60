import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { Checks, checkNames, epochCheckNames } from './checks.js';

/** What the compiled operations ask `has` for. */
function asked(): string[] {
  const names: string[] = [];
  for (const entry of readdirSync(import.meta.dirname, { recursive: true, withFileTypes: true })) {
    if (!entry.name.endsWith('.js') || /\.(test|fixture)\.js$/.test(entry.name)) continue;
    const text = readFileSync(`${entry.parentPath}/${entry.name}`, 'utf8');
    for (const [, name] of text.matchAll(/checks\.has\('([^']+)'\)/g)) names.push(name ?? '');
  }
  return names;
}

describe('the checks by name', () => {
  it('are all made somewhere, so that each can be switched off', () => {
    // Names of epochs are put together: epochs.test.ts shows of each that an operation asks for it.
    const used = new Set<string>([...asked(), ...epochCheckNames]);
    expect(checkNames.filter((name) => !used.has(name))).toEqual([]);
    expect(new Set(checkNames).size).toBe(checkNames.length);
  });

  it('are all on, but for the one that is off', () => {
    expect(checkNames.every((name) => new Checks().has(name))).toBe(true);
    expect(checkNames.filter((name) => !new Checks('bind.quota').has(name))).toEqual(['bind.quota']);
  });
});
