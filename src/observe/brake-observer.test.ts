import { describe, expect, it } from 'vitest';
import { VirtualTime } from '../env/virtual.js';
import { FakeObjects, objectOf } from '../model/fake-objects.fixture.js';
import { BrakeObserver } from './brake-observer.js';
import { FreshnessObserver } from './freshness-observer.js';

/** A cell of a few nodes in one zone, some of them lost by the last durable verdict, and somebody who begins to listen. */
function openCell(reachability: readonly string[], drained: readonly number[] = []) {
  const time = new VirtualTime({ seed: 1 });
  const { env } = time.machine('server');
  const objects = new FakeObjects();
  const renew = (index: number): void =>
    objects.put(objectOf('Lease', undefined, `node-n${index}`, { spec: { durationSeconds: 40 } }));
  for (const [index, is] of reachability.entries()) {
    const spec = { region: 'eu', zone: 'a' };
    const drain = drained.includes(index) ? { drain: { state: 'Complete' } } : {};
    objects.put(objectOf('Node', undefined, `n${index}`, { spec, status: { reachability: is, ...drain } }));
    renew(index);
  }
  const freshness = new FreshnessObserver({ objects, env });
  freshness.start(new AbortController().signal);
  const brakes = new BrakeObserver({ objects, freshness, env });
  const run = (forMs: number) => {
    env.after(forMs, () => undefined);
    return time.run(time.nowMs + forMs);
  };
  return { renew, run, state: () => brakes.now().at('eu', 'a').state };
}

describe('the brakes that somebody sees who has just begun to listen', () => {
  it('are on where many were silent for the last leader, until they are heard of', async () => {
    const { renew, run, state } = openCell(['Lost', 'Unknown', 'Unknown', 'Fresh']);
    expect(state()).toBe('Stop');
    for (const index of [0, 1, 3]) renew(index);
    await run(40_000);
    for (const index of [0, 1, 3]) renew(index);
    expect(state()).toBe('Off');
  });

  it('[S5] stay on for a lease after most are back: the last of those that come back is not taken for lost', async () => {
    const { renew, run, state } = openCell(['Unknown', 'Unknown', 'Unknown', 'Fresh']);
    expect(state()).toBe('Stop');
    for (let forMs = 0; forMs < 39_000; forMs += 3_000) {
      for (const index of [0, 1, 3]) renew(index);
      expect(state()).toBe('Stop');
      await run(3_000);
    }
    for (const index of [0, 1, 3]) renew(index);
    await run(1_000);
    expect(state()).toBe('Off');
  });

  it('are off where those that are silent were drained before: they may be switched off', () => {
    const { state } = openCell(['Lost', 'Lost', 'Fresh', 'Fresh', 'Fresh'], [0, 1]);
    expect(state()).toBe('Off');
  });

  it('are off where all were well, until a full window has passed', async () => {
    const { run, state } = openCell(['Fresh', 'Fresh', 'Fresh', 'Fresh']);
    expect(state()).toBe('Off');
    await run(13_000);
    expect(state()).toBe('Off');
    await run(3_000);
    expect(state()).toBe('Stop');
  });
});
