import { describe, expect, it } from 'vitest';
import type { NodeAccount } from '../model/records.js';
import { CellTotal } from './cell-total.js';

const offering = (allocatable: NodeAccount['allocatable'], used = {}): NodeAccount => ({
  ...{ gate: { state: 'Open', since: '' }, allocatable, used, devices: {}, revisions: {} },
  claims: { devices: {}, ports: {} },
});

describe('CellTotal', () => {
  it('adds up what nodes offer as they come, change and go, and says whether anything changed', () => {
    const total = new CellTotal();
    expect(total.set('a', offering({ cpuMilli: 4_000, devices: { gpu: 1 } }))).toBe(true);
    expect(total.set('b', offering({ cpuMilli: 2_000 }))).toBe(true);
    expect(total.set('b', offering({ cpuMilli: 2_000 }, { cpuMilli: 500 }))).toBe(false);
    expect(total.amount).toEqual({ cpuMilli: 6_000, devices: { gpu: 1 } });
    expect(total.set('b', offering({ cpuMilli: 1_000 }))).toBe(true);
    expect(total.set('a', undefined)).toBe(true);
    expect(total.set('a', undefined)).toBe(false);
    expect(total.amount).toEqual({ cpuMilli: 1_000, devices: { gpu: 0 } });
  });
});
