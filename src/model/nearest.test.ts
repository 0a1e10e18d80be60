import { describe, expect, it } from 'vitest';
import { nearest } from './nearest.js';

describe('the nearest name', () => {
  const names = ['workloads', 'nodes', 'tenants', 'replicas', 'wl'];

  it.each([
    ['wrokloads', 'workloads'],
    ['worklods', 'workloads'],
    ['Node', 'nodes'],
    ['tennants', 'tenants'],
    ['replicsa', 'replicas'],
    ['w', 'wl'],
  ])('of %s is %s', (word, expected) => {
    expect(nearest(word, names)).toBe(expected);
  });

  it.each(['zebra', '', 'pods', 'x'.repeat(100)])('of %j is none', (word) => {
    expect(nearest(word, names)).toBeUndefined();
  });
});
