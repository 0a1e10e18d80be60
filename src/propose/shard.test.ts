import { describe, expect, it } from 'vitest';
import { shardLease, shardOf } from './shard.js';

describe('shards', () => {
  it('give every workload to one of them, and about the same number to each', () => {
    const counts = [0, 0, 0, 0];
    for (let at = 0; at < 10_000; at++) {
      const shard = shardOf(`tenant-${at % 20}`, `work-${at}`, 4);
      counts[shard] = (counts[shard] ?? 0) + 1;
    }
    for (const count of counts) expect(count).toBeGreaterThan(2_200);
    expect(shardOf('a', 'b', 4)).toBe(shardOf('a', 'b', 4));
    expect(shardOf('a', 'b', 1)).toBe(0);
  });

  it('have a lease each that the authority knows as one of the scheduler', () => {
    expect([shardLease(0, 1), shardLease(0, 2), shardLease(1, 2)]).toEqual([
      'scheduler',
      'scheduler-0',
      'scheduler-1',
    ]);
  });
});
