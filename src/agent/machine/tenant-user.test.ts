import { describe, expect, it } from 'vitest';
import { areIdsMapped, tenantUser, tenantUsersUsual } from './tenant-user.js';

describe('the user of a tenant', () => {
  it('is another for each, the same every time, and within the range', () => {
    const ids = Array.from(
      { length: 200 },
      (_, index) => tenantUser(`tenant-${index}`, tenantUsersUsual).uid,
    );
    expect(new Set(ids).size).toBe(200);
    expect(tenantUser('tenant-7', tenantUsersUsual)).toEqual({ uid: ids[7], gid: ids[7] });
    const { from, count } = tenantUsersUsual;
    expect(ids.every((id) => id >= from && id < from + count)).toBe(true);
    expect(tenantUser('a', { from: 5_000, count: 1 })).toEqual({ uid: 5_000, gid: 5_000 });
  });

  it('exists only where the machine has the whole range', () => {
    expect(areIdsMapped('         0          0 4294967295\n', tenantUsersUsual)).toBe(true);
    const inContainer = '         0       1000          1\n         1     100000      65536\n';
    expect(areIdsMapped(inContainer, tenantUsersUsual)).toBe(false);
    expect(areIdsMapped(inContainer, { from: 30_000, count: 30_000 })).toBe(true);
    expect(areIdsMapped(inContainer, { from: 30_000, count: 40_000 })).toBe(false);
  });
});
