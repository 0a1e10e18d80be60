import { describe, expect, it } from 'vitest';
import { monotonicInstant } from '../../env/instant.js';
import type { UsageSample } from '../../model/usage.js';
import { NodeUsage } from './node-usage.js';

const sample = (measuredMs: number, cpuSeconds: number, restarts = 0): UsageSample => ({
  ...{ uid: 'a', restarts, oomKills: 0 },
  running: { measuredMs, cpuSeconds, memoryBytes: 1 },
});
const idle: UsageSample = { uid: 'a', restarts: 0, oomKills: 0 };

describe('NodeUsage', () => {
  it.each([
    ['one measurement is no rate', [sample(0, 1)], undefined],
    ['two are', [sample(0, 1), sample(2_000, 2)], 0.5],
    ['the last two count', [sample(0, 0), sample(1_000, 9), sample(2_000, 9)], 0],
    ['the same told twice changes nothing', [sample(0, 1), sample(2_000, 2), sample(2_000, 2)], 0.5],
    ['not over a restart', [sample(0, 1), sample(2_000, 2, 1)], undefined],
    ['not if it used less than before', [sample(0, 3), sample(2_000, 2)], undefined],
    ['not if the clock of the node went back', [sample(2_000, 1), sample(0, 2)], undefined],
    ['not over a time without', [sample(0, 1), idle, sample(2_000, 2)], undefined],
  ])('says how many cores a replica uses: %s', (_, samples, cores) => {
    const usage = new NodeUsage();
    for (const each of samples) usage.note([each], monotonicInstant(0), () => true);
    expect(usage.of('a', monotonicInstant(0))?.cpuCores).toBe(cores);
  });

  it('says how old it is, and keeps nothing of what is not bound or more than it knows', () => {
    const usage = new NodeUsage();
    const padded = { ...sample(0, 1), more: 'x'.repeat(1_000) };
    usage.note([padded, { ...idle, uid: 'b' }], monotonicInstant(1_000), (uid) => uid === 'a');
    expect(usage.size).toBe(1);
    expect(usage.of('a', monotonicInstant(4_000))).toEqual({
      ...{ restarts: 0, oomKills: 0, cpuSeconds: 1, memoryBytes: 1, ageSeconds: 3 },
    });
    usage.keepOnly(() => false);
    expect(usage.size).toBe(0);
  });
});
