import { describe, expect, it } from 'vitest';
import { monotonicInstant as at } from '../env/instant.js';
import { NodeFreshness, suspectAfterMs, usualFreshness } from './node-freshness.js';

const second = 1_000;

describe('the freshness of a node', () => {
  it('follows from how long ago it was heard of: late after a while, unknown when its lease is over, lost when all was given away', () => {
    const freshness = new NodeFreshness(at(0));
    freshness.seen('n', '1', 40, at(100 * second));
    const verdict = (ms: number) => freshness.judge('n', at(ms))?.verdict;
    expect([114, 114.1, 140, 140.1, 229, 230].map((seconds) => verdict(seconds * second))).toEqual([
      ...['Fresh', 'Suspect', 'Suspect', 'Unknown', 'Unknown', 'Lost'],
    ]);
    freshness.seen('n', '2', 40, at(150 * second));
    expect(verdict(151 * second)).toBe('Fresh');
    expect(freshness.judge('x', at(0))).toBeUndefined();
  });

  it('shows the arrivals it was judged by, latest first, and not more than a few', () => {
    const freshness = new NodeFreshness(at(0));
    for (let renewal = 1; renewal <= 20; renewal++)
      freshness.seen('n', String(renewal), 40, at(renewal * 5 * second));
    freshness.seen('n', '20', 40, at(103 * second));
    expect(freshness.judge('n', at(104 * second))).toMatchObject({
      ...{
        verdict: 'Fresh',
        silentMs: 4 * second,
        isHeard: true,
        ageMs: 4 * second,
        lateMs: 11 * second,
        leaseMs: 40 * second,
        leaseRevision: 20,
      },
      arrivalsMs: [4, 9, 14, 19, 24, 29, 34, 39].map((seconds) => seconds * second),
    });
    expect(freshness.ageMs('n', at(104 * second))).toBe(4 * second);
  });

  it('is not known before a full window: a lease that was found counts from when somebody began to listen', () => {
    const freshness = new NodeFreshness(at(1_000 * second));
    freshness.found('n', '7', 40);
    expect(freshness.ageMs('n', at(1_005 * second))).toBeUndefined();
    expect(freshness.judge('n', at(1_014 * second))).toMatchObject({
      ...{ verdict: 'Fresh', isHeard: false, arrivalsMs: [] },
    });
    expect(freshness.judge('n', at(1_015 * second))?.verdict).toBe('Suspect');
    expect(freshness.judge('n', at(1_041 * second))?.verdict).toBe('Unknown');
    expect(freshness.judge('n', at(1_041 * second), at(1_030 * second))?.verdict).toBe('Fresh');
    freshness.seen('n', '7', 40, at(1_020 * second));
    expect(freshness.ageMs('n', at(1_021 * second)), 'the lease has not changed').toBeUndefined();
    freshness.forget('n');
    expect([...freshness.nodes()]).toEqual([]);
  });

  it('adapts to its own arrivals: what is usual for one is late for another, within bounds', () => {
    const late = (...gaps: number[]): number => {
      let now = 0;
      const arrivals = [at(0), ...gaps.map((gap) => at((now += gap * second)))];
      return suspectAfterMs(arrivals, usualFreshness) / second;
    };
    expect(late(5, 5)).toBe(14);
    expect(late(5, 5, 5, 5, 5)).toBe(11);
    expect(late(5, 7, 5, 8, 3, 6)).toBeCloseTo(12.0, 0);
    expect(late(5, 5, 10, 5, 5)).toBe(14);
    expect(late(10, 10, 10)).toBe(11);
    expect(late(10, 11, 9, 10)).toBeCloseTo(12.8, 0);
  });

  it('has thresholds that can be set', () => {
    const freshness = new NodeFreshness(at(0), { ...usualFreshness, suspectMsMost: 3 * second });
    freshness.seen('n', '1', 40, at(0));
    expect(freshness.judge('n', at(4 * second))?.verdict).toBe('Suspect');
  });
});
