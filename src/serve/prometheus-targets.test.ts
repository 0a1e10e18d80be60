import { describe, expect, it } from 'vitest';
import { objectOf } from '../model/fake-objects.fixture.js';
import type { Endpoints } from '../model/kinds/endpoints.js';
import { prometheusTargets } from './prometheus-targets.js';

const endpoints = (tenant: string, name: string, addresses: readonly object[]): Endpoints =>
  objectOf('Endpoints', tenant, name, { status: { addresses } }) as unknown as Endpoints;
const all = [
  endpoints('shop', 'api', [
    {
      ...{ replica: 'api-0-1', node: 'n1', address: '10.0.0.1', region: 'eu', zone: 'a' },
      ports: { http: 8_080, metrics: 9_100 },
    },
    { replica: 'api-1-1', node: 'n2', address: '2001:db8::7', ports: { metrics: 9_100 } },
  ]),
  endpoints('bank', 'score', [{ replica: 'score-0-1', node: 'n1', address: 'n1', ports: { metrics: 1 } }]),
];

describe('prometheusTargets', () => {
  it('names every port of every serving replica, with labels', () => {
    const groups = prometheusTargets(all, {});
    expect(groups.flatMap(({ targets }) => targets)).toEqual([
      ...['10.0.0.1:8080', '10.0.0.1:9100', '[2001:db8::7]:9100', 'n1:1'],
    ]);
    expect(groups[0]?.labels).toEqual({
      __meta_berth_tenant: 'shop',
      __meta_berth_workload: 'api',
      __meta_berth_replica: 'api-0-1',
      __meta_berth_port: 'http',
      __meta_berth_node: 'n1',
      __meta_berth_region: 'eu',
      __meta_berth_zone: 'a',
    });
  });

  it('only those that are asked for', () => {
    const targets = (asked: object) => prometheusTargets(all, asked).flatMap((group) => group.targets);
    expect(targets({ tenant: 'bank' })).toEqual(['n1:1']);
    expect(targets({ workload: 'api', port: 'metrics' })).toEqual(['10.0.0.1:9100', '[2001:db8::7]:9100']);
    expect(targets({ tenant: 'nobody' })).toEqual([]);
  });
});
