import { describe, expect, it } from 'vitest';
import { plainFleet, readFleet } from './read-fleet.js';

const fleet = (spec: string): string => `apiVersion: berth.dev/v1
kind: Fleet
metadata: { name: test }
spec:
${spec.replaceAll(/^/gm, '  ')}`;
const capacity = 'capacity: { cpu: "4", memory: 8Gi }';

describe('a fleet file', () => {
  it('says which nodes there are, where, what they offer and how they behave', () => {
    const { nodes, regions } = readFleet(
      fleet(`regions: { eu: { jurisdiction: EU, zones: [a, b] } }
profiles: { slow: { startSeconds: [20, 60] } }
pools:
  - { name: gpu, count: 3, region: eu, zones: [a, b], ${capacity}, devices: { gpu: 2 }, labels: { pool: gpu }, profile: slow }
  - { name: named, names: [node-a], ${capacity}, taints: [{ key: only, effect: NoSchedule }], leaseSeconds: 15 }`),
      'f.yaml',
    );
    expect(nodes.map(({ offer }) => `${offer.node} ${offer.region}/${offer.zone}`)).toEqual([
      ...['gpu-1 eu/a', 'gpu-2 eu/b', 'gpu-3 eu/a', 'node-a local/local'],
    ]);
    expect(nodes[0]).toMatchObject({
      offer: {
        labels: { pool: 'gpu' },
        allocatable: { cpu: '4', memory: '8Gi', devices: { gpu: 2 } },
        devices: { gpu: ['gpu-1-gpu-0', 'gpu-1-gpu-1'] },
      },
      profile: { startSeconds: [20, 60], startFailure: 0 },
    });
    expect(nodes.map(({ leaseSeconds }) => leaseSeconds)).toEqual([undefined, undefined, undefined, 15]);
    expect(nodes[3]?.offer.taints).toEqual([{ key: 'only', effect: 'NoSchedule' }]);
    expect([...regions]).toEqual([
      ['eu', { jurisdiction: 'EU', zones: ['a', 'b'] }],
      ['local', {}],
    ]);
  });

  it.each([
    ['pools: [', 'f.yaml:5:11:'],
    ['pools: []', 'spec.pools: must have at least one entry'],
    [`pools: [{ name: a, ${capacity} }]`, 'spec.pools[0]: needs either count or names'],
    [`pools: [{ name: a, count: 0, ${capacity} }]`, 'spec.pools[0].count: 0: must be at least 1'],
    [`pools: [{ name: a, count: 1, ${capacity}, leaseSeconds: 5 }]`, 'leaseSeconds: 5: must be at least 15'],
    [`pools: [{ name: a, count: 2 }]`, 'spec.pools[0].capacity: is required'],
    [
      `pools: [{ name: a, count: 2, ${capacity}, zone: a }]`,
      'spec.pools[0].zone: "a": unknown field; did you mean zones?',
    ],
    [
      `pools: [{ name: a, count: 2, ${capacity}, profile: x }]`,
      'spec.pools[0].profile: "x": must be one of the profiles of this file: there are none',
    ],
    [
      `pools: [{ name: a, count: 2, ${capacity} }, { name: b, names: [a-1], ${capacity} }]`,
      'spec.pools[1]: "a-1": another pool has a node of this name',
    ],
    [
      `pools: [{ name: a, count: 15000, ${capacity} }, { name: b, count: 15000, ${capacity} }]`,
      'spec.pools: must have at most 20000 nodes in all, has 30000',
    ],
    [
      `pools: [{ name: a, count: 2, capacity: { cpu: lots } }]`,
      'spec.pools[0].capacity.cpu: "lots": must be',
    ],
    [
      `pools: [{ name: a, count: 2, ${capacity} }]\nprofiles: { p: { startFailure: 2 } }`,
      'spec.profiles.p.startFailure: 2: must be at most 1',
    ],
    [
      `pools: [{ name: a, count: 2, ${capacity} }]\nregions: { eu: { jurisdictions: EU } }`,
      'spec.regions.eu.jurisdictions: "EU": unknown field; did you mean jurisdiction?',
    ],
  ])('that is wrong is refused with path, value and what is allowed: %s', (spec, message) => {
    expect(() => readFleet(fleet(spec), 'f.yaml')).toThrow(message);
  });

  it('of another kind, or none at all, is refused', () => {
    expect(() => readFleet('[]', 'f.yaml')).toThrow('f.yaml: not an object');
    expect(() => readFleet('kind: Fleet\n---\nkind: Fleet', 'f.yaml')).toThrow(
      'f.yaml:2:1: the file is one document, not several',
    );
    expect(() => readFleet('kind: Workload', 'f.yaml')).toThrow('kind: "Workload": must be Fleet');
    expect(() => plainFleet(0)).toThrow('got 0 nodes, allowed are 1 to 20000');
    expect(plainFleet(2).nodes.map(({ offer }) => offer.node)).toEqual(['hollow-1', 'hollow-2']);
  });
});
