import { describe, expect, it } from 'vitest';
import type { WorkloadRevisionSpec } from './kinds/workload-revision.js';
import {
  mustBeApartOnNode,
  repellingTaint,
  type RuledRevision,
  spreadCounts,
  zonesAllowed,
} from './placement-rules.js';

const revision = (
  workload: string,
  placement: NonNullable<WorkloadRevisionSpec['placement']> = {},
  labels: Readonly<Record<string, string>> = {},
  namespace = 'bank',
): RuledRevision => ({
  metadata: { namespace },
  spec: { workload, revision: 1, template: { run: {}, labels }, placement },
});

describe('the meaning of placement rules', () => {
  it('a taint repels unless its key, value and effect are tolerated; a soft one never does', () => {
    const hard = { key: 'old', value: 'yes', effect: 'NoSchedule' as const };
    const soft = { key: 'slow', effect: 'PreferNoSchedule' as const };
    expect(repellingTaint([soft, hard], [])).toBe(hard);
    for (const toleration of [
      { key: 'old', value: 'yes' },
      { key: 'old', operator: 'Exists' as const },
      { operator: 'Exists' as const },
      { operator: 'Exists' as const, effect: 'NoSchedule' as const },
    ])
      expect(repellingTaint([soft, hard], [toleration])).toBeUndefined();
    for (const toleration of [
      { key: 'old', value: 'no' },
      { key: 'new', operator: 'Exists' as const },
      { operator: 'Exists' as const, effect: 'NoExecute' as const },
      {},
    ])
      expect(repellingTaint([hard], [toleration])).toBe(hard);
  });

  it('replicas are kept apart by the rule of either, within one tenant', () => {
    const shy = revision('shy', {
      antiAffinity: [{ topology: 'Node', selector: { matchLabels: { app: 'loud' } } }],
    });
    const loud = revision('loud', {}, { app: 'loud' });
    expect(mustBeApartOnNode(shy, loud)).toBe('mine');
    expect(mustBeApartOnNode(loud, shy)).toBe('theirs');
    expect(mustBeApartOnNode(shy, shy)).toBeUndefined();
    expect(mustBeApartOnNode(shy, revision('loud', {}, { app: 'loud' }, 'shop'))).toBeUndefined();
    const alone = revision('alone', { antiAffinity: [{ topology: 'Node' }] });
    expect(mustBeApartOnNode(alone, alone)).toBe('mine');
    expect(mustBeApartOnNode(alone, loud)).toBeUndefined();
  });

  it('a domain is compared with those the workload could be in, and not with those it may no longer be in', () => {
    const { spec } = revision('web', { regions: ['eu'], zones: ['a', 'b'] });
    const zonesOf = (region: string): string[] => (region === 'eu' ? ['a', 'b', 'c'] : ['a']);
    const isResident = (): boolean => true;
    const beside = {
      zonesBeside: (at: string) => zonesAllowed(spec, at, { zonesOf, isResident }),
      isResident,
    };
    const where = { region: 'eu', zoneKey: 'eu/a' };
    const counts = { 'eu/a': 2, 'eu/b': 1, 'us/a': 0 };
    expect(spreadCounts(spec, 'Zone', where, counts, beside)).toEqual({
      domain: 'eu/a',
      here: 2,
      fewest: 1,
    });
    expect(spreadCounts(spec, 'Zone', where, { 'eu/a': 2 }, beside).fewest).toBe(0);
    expect(spreadCounts(spec, 'Region', where, { eu: 3, us: 1 }, beside)).toEqual({
      domain: 'eu',
      here: 3,
      fewest: 3,
    });
  });

  it('[L1] a domain is not compared with those where the tenant may not be', () => {
    const { spec } = revision('web', { regions: ['eu', 'us'] });
    const isResident = (region: string): boolean => region === 'eu';
    const regions = { zonesOf: () => ['a', 'b'], isResident };
    const beside = { zonesBeside: (at: string) => zonesAllowed(spec, at, regions), isResident };
    const where = { region: 'eu', zoneKey: 'eu/a' };
    expect(beside.zonesBeside('eu')).toEqual(['eu/a', 'eu/b']);
    const fewest = (topology: 'Zone' | 'Region', counts: Readonly<Record<string, number>>): number =>
      spreadCounts(spec, topology, where, counts, beside).fewest;
    expect(fewest('Zone', { 'eu/a': 2, 'eu/b': 1, 'us/a': 0 })).toBe(1);
    expect(fewest('Region', { eu: 3, us: 1 })).toBe(3);
  });
});
