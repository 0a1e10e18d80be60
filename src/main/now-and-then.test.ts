import { expect, it } from 'vitest';
import { VirtualTime } from '../env/virtual.js';
import { BerthError } from '../model/errors.js';
import { nowAndThen } from './now-and-then.js';

it('goes on after failures, tells of those that are defects, and stops when told to', async () => {
  const world = new VirtualTime({ seed: 1 });
  const { env } = world.machine('server');
  const stop = new AbortController();
  const defects: unknown[] = [];
  let times = 0;
  const failures = [new BerthError('StoreUnavailable', 'away'), new Error('broken')];
  env.after(0, () => {
    const parts = { env, signal: stop.signal, onDefect: (error: unknown) => defects.push(error) };
    void nowAndThen(parts, 1_000, () => {
      const failure = failures[times++];
      return failure === undefined ? Promise.resolve() : Promise.reject(failure);
    });
  });
  env.after(5_500, () => stop.abort());
  expect((await world.run()).kind).toBe('idle');
  expect(times).toBe(5);
  expect(defects).toEqual([failures[1]]);
});
