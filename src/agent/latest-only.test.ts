import { expect, it } from 'vitest';
import { latestOnly } from './latest-only.js';

it('one wish is acted on at a time, and of those that came meanwhile the last', () => {
  const acts: number[] = [];
  const dones: (() => void)[] = [];
  const wish = latestOnly((each: number, done) => {
    acts.push(each);
    dones.push(done);
  });
  for (const each of [1, 2, 3]) wish(each);
  expect(acts).toEqual([1]);
  dones[0]?.();
  expect(acts).toEqual([1, 3]);
  dones[1]?.();
  wish(4);
  expect(acts).toEqual([1, 3, 4]);
});
