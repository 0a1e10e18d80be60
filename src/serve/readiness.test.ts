import { expect, it } from 'vitest';
import { VirtualTime } from '../env/virtual.js';
import { BerthError } from '../model/errors.js';
import { Readiness } from './readiness.js';

it('a server is ready while it can catch up with the store, says once when it cannot, and is ready again by itself', async () => {
  const world = new VirtualTime({ seed: 1 });
  const told: string[] = [];
  const defects: unknown[] = [];
  const seen: unknown[] = [];
  world.spawn(world.machine('server'), 'server', async (env) => {
    let isCutOff = false;
    const catchUp = async (): Promise<void> => {
      if (!isCutOff) return;
      await env.sleep(2_500);
      throw new BerthError('StoreUnavailable', 'no leader');
    };
    const readiness = new Readiness({
      ...{ freshness: { catchUp }, env },
      onProblem: (line) => told.push(line),
      onDefect: (error) => defects.push(error),
    });
    const stop = new AbortController();
    const running = readiness.run(stop.signal);
    await env.sleep(5_500);
    seen.push(readiness.notReady());
    isCutOff = true;
    await env.sleep(4_000);
    seen.push(readiness.notReady());
    await env.sleep(20_000);
    seen.push(readiness.notReady());
    isCutOff = false;
    await env.sleep(4_000);
    seen.push(readiness.notReady());
    stop.abort();
    await running;
  });
  await world.run(60_000);
  // The first look after the cut begins half a second later, and the duration counts from that look.
  expect(seen).toEqual([
    undefined,
    { forMs: 3_500, message: 'no leader' },
    { forMs: 23_500, message: 'no leader' },
    undefined,
  ]);
  expect(told).toEqual(['readiness: not up to date with the store: no leader', 'readiness: ready again']);
  expect(defects).toEqual([]);
});
