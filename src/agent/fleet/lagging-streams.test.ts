import { expect, it } from 'vitest';
import { VirtualTime } from '../../env/virtual.js';
import { FakeStreams } from '../session.fixture.js';
import { Wheel } from '../wheel.js';
import { laggingStreams } from './lagging-streams.js';

it('what a node that lags says arrives late and in order', async () => {
  const time = new VirtualTime({ seed: 1 });
  const { env } = time.machine('node');
  const streams = new FakeStreams();
  const parts = { env, wheel: new Wheel(env) };
  expect(laggingStreams(streams, [0, 0], parts)).toBe(streams);
  const late = laggingStreams(streams, [1, 3], parts);
  const line = late.open(
    { node: 'n', epoch: { cell: 1, number: 1 }, id: 0 },
    { hear: () => undefined, hasRoom: () => true },
  );
  for (let id = 1; id <= 20; id++) line.say({ kind: 'renew', id });
  await time.run(900);
  expect(streams.said).toEqual([]);
  await time.run(4_000);
  expect(streams.said.map(({ id }) => id)).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
});
