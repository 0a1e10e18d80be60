import { describe, expect, it } from 'vitest';
import { revisionOf } from './revision-of.js';
import { workloadOf } from './workload.fixture.js';

describe('the revision of a workload', () => {
  it('has a name that follows from template, placement and priority class, in whatever order they are written', () => {
    const one = workloadOf({ placement: { regions: ['a'], zones: ['b'] }, priorityClassName: 'high' });
    const same = workloadOf({ priorityClassName: 'high', placement: { zones: ['b'], regions: ['a'] } });
    expect(revisionOf(one).name).toMatch(/^web-[0-9a-f]{10}$/);
    expect(revisionOf(same).name).toBe(revisionOf(one).name);
    expect(revisionOf(workloadOf({ placement: { regions: ['a'] } })).name).not.toBe(revisionOf(one).name);
    expect(revisionOf(workloadOf({ replicas: 7 })).name).toBe(revisionOf(workloadOf()).name);
  });

  it('keeps lists in their order: a command is not a set', () => {
    const of = (...command: string[]) =>
      revisionOf(workloadOf({ template: { run: { process: { command } } } })).name;
    expect(of('a', 'b')).not.toBe(of('b', 'a'));
  });
});
