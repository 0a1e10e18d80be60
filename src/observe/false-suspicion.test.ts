import { expect, it } from 'vitest';
import { falseSuspicions } from './false-suspicion.fixture.js';

it('nobody is given up for 1 % of loss and jitter of up to 3 s, and suspicion is rare', () => {
  const found = falseSuspicions({ nodes: 40, hours: 3, renewSeconds: 5, loss: 0.01, jitterMs: 3_000 });
  expect(found).toMatchObject({ Unknown: 0, Lost: 0 });
  expect(found.Suspect / found.renewals).toBeLessThan(0.005);
  const still = falseSuspicions({ nodes: 40, hours: 3, renewSeconds: 5, loss: 0.6, jitterMs: 3_000 });
  expect(still.Unknown, 'a weather in which it would be seen').toBeGreaterThan(0);
});
