import { expect, it } from 'vitest';
import { shownAge } from './age.js';

it.each([
  [-5_000, '0s'],
  [0, '0s'],
  [119_999, '119s'],
  [120_000, '2m'],
  [125_000, '2m5s'],
  [600_000, '10m'],
  [10_799_000, '179m'],
  [10_800_000, '3h'],
  [12_000_000, '3h20m'],
  [172_799_000, '47h'],
  [180_000_000, '2d2h'],
  [700_000_000, '8d'],
  [63_072_000_000, '2y'],
  [70_000_000_000, '2y80d'],
])('an age of %i ms is shown as %s', (ms, shown) => {
  expect(shownAge(ms)).toBe(shown);
});
