import { describe, expect, it } from 'vitest';
import { msBetween } from '../env/instant.js';
import { VirtualTime } from '../env/virtual.js';
import type { Outcome } from '../model/ports.js';
import { Patience } from './patience.js';
import { RetrySender } from './retry-sender.js';

const committed: Outcome<unknown> = { kind: 'Committed', result: undefined, revision: '1' };

/** So many operations are sent at once to an authority that answers as told; what was sent, and what came of it. */
async function within(
  forMs: number,
  operations: number,
  answer: (nowMs: number) => Promise<Outcome<unknown>>,
  isOpen: (nowMs: number) => boolean = () => true,
) {
  const world = new VirtualTime({ seed: 1 });
  const term = new AbortController();
  const ended: string[] = [];
  const sent = { calls: 0, underWayMost: 0, inFirstSecond: 0 };
  world.spawn(world.machine('m'), 'sender', async (env) => {
    const startedAt = env.clock.monotonic();
    const nowMs = (): number => msBetween(startedAt, env.clock.monotonic());
    const patience = new Patience({ env, nowMs });
    const sender = new RetrySender({ env, nowMs, patience, records: { version: '1' }, signal: term.signal });
    let underWay = 0;
    const send = async (): Promise<Outcome<unknown>> => {
      sent.calls += 1;
      if (nowMs() < 1_000) sent.inFirstSecond += 1;
      sent.underWayMost = Math.max(sent.underWayMost, (underWay += 1));
      await env.sleep(5);
      underWay -= 1;
      return answer(nowMs());
    };
    for (let at = 0; at < operations; at++)
      void sender
        .untilKnown(send, () => isOpen(nowMs()))
        .then((outcome) => ended.push(outcome?.kind ?? 'Over'));
    await env.sleep(forMs);
  });
  await world.run(world.nowMs + forMs);
  return { ...sent, ended, term };
}

const down = (): Promise<never> => Promise.reject(new Error('no way there'));

describe('RetrySender', () => {
  it('sends so many at once, and every one once where each is answered', async () => {
    const { calls, underWayMost, ended } = await within(1_000, 1_000, () => Promise.resolve(committed));
    expect([calls, underWayMost, new Set(ended)]).toEqual([1_000, 64, new Set(['Committed'])]);
  });

  it('[L8] an authority that cannot be reached is waited for by all together, and not asked by each', async () => {
    const { calls, inFirstSecond, ended } = await within(120_000, 1_000, down);
    expect(calls).toBeLessThan(100);
    expect(inFirstSecond).toBeLessThan(70);
    expect(ended).toEqual([]);
  });

  it('[L1] what an outage kept waiting is sent once it is over, each until its outcome is known', async () => {
    const { ended, calls } = await within(60_000, 1_000, (nowMs) =>
      nowMs < 20_000 ? down() : Promise.resolve(committed),
    );
    expect([ended.length, new Set(ended)]).toEqual([1_000, new Set(['Committed'])]);
    expect(calls).toBeLessThan(1_100);
  });

  it('an outcome that is not known is asked for again, less and less often, while others are answered', async () => {
    let isFirst = true;
    const { calls } = await within(60_000, 2, () => {
      if (!isFirst) return Promise.resolve({ kind: 'UnknownOutcome', message: '' });
      isFirst = false;
      return Promise.resolve(committed);
    });
    expect(calls).toBeGreaterThan(8);
    expect(calls).toBeLessThan(25);
  });

  it('stops when nobody waits for it any more', async () => {
    const { calls, ended } = await within(120_000, 1_000, down, (nowMs) => nowMs < 1_000);
    expect([ended.length, new Set(ended)]).toEqual([1_000, new Set(['Over'])]);
    expect(calls).toBeLessThan(70);
  });

  it('stops when the term is over', async () => {
    const { ended, term } = await within(10_000, 100, down);
    expect(ended).toEqual([]);
    term.abort();
    await new Promise((resolve) => setImmediate(resolve));
    expect([ended.length, new Set(ended)]).toEqual([100, new Set(['Over'])]);
  });
});
