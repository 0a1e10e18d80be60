import { describe, expect, it } from 'vitest';
import { shownCount, shownResource } from './shown-resource.js';

describe('resources for people', () => {
  it.each([
    ['cpu', 40_000, '40'],
    ['cpu', 500, '500m'],
    ['cpu', -1_000, '0'],
    ['memory', 96 * 2 ** 30, '96Gi'],
    ['memory', 0, '0'],
    ['replicas', 7, '7'],
    ['device/gpu', 2, '2'],
  ])('%s %d is written %s', (resource, count, shown) => {
    expect(shownCount(resource, count)).toBe(shown);
  });

  it('devices are called by their class', () => {
    expect(['cpu', 'device/gpu'].map(shownResource)).toEqual(['cpu', 'gpu']);
  });
});
