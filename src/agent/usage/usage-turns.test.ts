import { describe, expect, it } from 'vitest';
import { bootInstant } from '../../env/instant.js';
import { UsageTurns } from './usage-turns.js';

const place = { tenant: 't', workload: 'w', replica: 'r' };

describe('UsageTurns', () => {
  it('has replicas take turns: so many at most are measured and told at once', () => {
    const uids = Array.from({ length: 250 }, (_, index) => `u${index}`);
    const measured: string[] = [];
    const turns = new UsageTurns({
      uids: () => uids,
      usageOf: (uid) => {
        measured.push(uid);
        // One has gone while it waited.
        return uid === 'u120' ? undefined : { ...place, restarts: 0, oomKills: 0, running: undefined };
      },
    });
    expect([1, 2, 3, 4].map(() => turns.next().length)).toEqual([100, 99, 50, 100]);
    expect(measured).toEqual([...uids, ...uids.slice(0, 100)]);
  });

  it('tells of what does not run, or could not be measured, only what happened to it', () => {
    const running = { cpuSeconds: 2, memoryBytes: 3, oomKills: 1, measuredAt: bootInstant(5) };
    const runningOf: Record<string, typeof running> = {
      a: running,
      c: { ...running, cpuSeconds: Number.NaN },
    };
    const turns = new UsageTurns({
      uids: () => ['a', 'b', 'c', 'odd'],
      usageOf: (uid) => ({
        ...place,
        restarts: uid === 'odd' ? -1 : 4,
        oomKills: 1,
        running: runningOf[uid],
      }),
    });
    expect(turns.next()).toEqual([
      { uid: 'a', restarts: 4, oomKills: 1, running: { measuredMs: 5, cpuSeconds: 2, memoryBytes: 3 } },
      { uid: 'b', restarts: 4, oomKills: 1 },
      { uid: 'c', restarts: 4, oomKills: 1 },
    ]);
  });
});
