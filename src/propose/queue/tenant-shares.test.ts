import { describe, expect, it } from 'vitest';
import { TenantShares } from './tenant-shares.js';

describe('TenantShares', () => {
  it('is the largest part of one resource, with what is on its way, divided by the weight', () => {
    const shares = new TenantShares();
    shares.setTotal({ cpuMilli: 1_000, memoryBytes: 1_000, devices: { gpu: 4 } });
    expect(shares.of('a')).toBe(0);
    shares.setUsed('a', { cpuMilli: 100, memoryBytes: 300 });
    expect(shares.of('a')).toBeCloseTo(0.3);
    shares.assume('a', { cpuMilli: 50, devices: { gpu: 1 } }, 2);
    expect(shares.of('a')).toBeCloseTo(0.5);
    shares.setWeight('a', 5);
    expect(shares.of('a')).toBeCloseTo(0.1);
    shares.assume('a', { cpuMilli: 50, devices: { gpu: 1 } }, -2);
    expect(shares.of('a')).toBeCloseTo(0.06);
    expect(shares.stepOf('a', { cpuMilli: 100, devices: { gpu: 2 } })).toBeCloseTo(0.1);
  });

  it('of a cell that offers nothing is nothing', () => {
    const shares = new TenantShares();
    shares.setUsed('a', { cpuMilli: 100 });
    expect([shares.of('a'), shares.stepOf('a', { cpuMilli: 1 })]).toEqual([0, 0]);
  });
});
