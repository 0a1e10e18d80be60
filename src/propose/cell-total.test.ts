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
    const a = offering({ cpuMilli: 4_000, devices: { gpu: 1 } });
    const b = offering({ cpuMilli: 2_000 });
    const fuller = offering({ cpuMilli: 2_000 }, { cpuMilli: 500 });
    expect(total.move(undefined, a)).toBe(true);
    expect(total.move(undefined, b)).toBe(true);
    expect(total.move(b, fuller)).toBe(false);
    expect(total.amount).toEqual({ cpuMilli: 6_000, devices: { gpu: 1 } });
    expect(total.move(fuller, offering({ cpuMilli: 1_000 }))).toBe(true);
    expect(total.move(a, undefined)).toBe(true);
    expect(total.move(undefined, undefined)).toBe(false);
    expect(total.amount).toEqual({ cpuMilli: 1_000, devices: { gpu: 0 } });
  });
});
