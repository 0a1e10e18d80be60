import { describe, expect, it } from 'vitest';
import { builtinPolicy, type Policy } from '../model/policy.js';
import { nodeAccountKey, nodeEpochKey, objectKey, statusKey, workloadAccountKey } from '../model/records.js';
import { TestPicture } from './cell.fixture.js';
import type { TurnResult } from './contract.js';
import { propose, type ProposeOptions } from './propose.js';
import { replayDecision } from './replay-decision.js';

const options: ProposeOptions = { policy: builtinPolicy, seed: 1, ages: () => undefined };

const nodesOf = ({ placements }: TurnResult): string[] => placements.map(({ node }) => node);
const waitsOf = ({ waits }: TurnResult): string[] => waits.map(({ reason }) => reason);

function turn(
  picture: TestPicture,
  workload: string,
  count: number,
  more: Partial<ProposeOptions> = {},
): TurnResult {
  const replicas = picture.pending(workload, count);
  return propose(picture.cell, { classKey: `bank/${workload}-r1`, replicas }, { ...options, ...more });
}

describe('propose', () => {
  it('fills one node after the other where the policy packs', () => {
    const picture = new TestPicture();
    for (const name of ['n1', 'n2', 'n3']) picture.node(name, { cpuMilli: 2_000 });
    picture.workload('web', { cpu: '1', memory: '1Gi' });
    const [a, b, c, d] = nodesOf(turn(picture, 'web', 4));
    expect(a).toBe(b);
    expect(c).toBe(d);
    expect(a).not.toBe(c);
  });

  it('uses every node before a second time where the policy spreads', () => {
    const picture = new TestPicture();
    for (const name of ['n1', 'n2', 'n3']) picture.node(name);
    picture.workload('web', { cpu: '1', memory: '1Gi' });
    const policy: Policy = { ...builtinPolicy, strategy: 'Spread' };
    expect(new Set(nodesOf(turn(picture, 'web', 3, { policy }))).size).toBe(3);
  });

  it('places what fits and says of the rest how many nodes each filter rejected, with names', () => {
    const picture = new TestPicture();
    picture.node('n1', { cpuMilli: 2_000 });
    picture.node('n2', { labels: { pool: 'gpu' }, spec: { unschedulable: true } });
    picture.node('n3', { spec: { region: 'us' } });
    picture.workload('web', { cpu: '1' }, { placement: { regions: ['local'] } });
    const result = turn(picture, 'web', 3);
    expect(nodesOf(result)).toEqual(['n1', 'n1']);
    expect(result.waits).toMatchObject([
      {
        reason: 'NodeFull',
        message:
          'none of 3 nodes takes it (1 Tainted, 1 RegionNotAllowed, 1 NodeFull): node n1 has not enough cpu left: 1 asked for, 0 free',
        reasons: ['Tainted', 'RegionNotAllowed', 'NodeFull'],
      },
    ]);
    expect(result.decision).toMatchObject({
      workload: 'web',
      revision: 'web-r1',
      generation: 1,
      result: 'Partly',
      snapshot: { nodes: 3 },
    });
    expect(result.decision.rejections).toEqual(
      expect.arrayContaining([
        { reason: 'Tainted', count: 1, nodes: ['n2'], message: 'node n2 is unschedulable' },
        {
          reason: 'RegionNotAllowed',
          count: 1,
          nodes: ['n3'],
          message: 'node n3 is in region us; allowed: local',
        },
      ]),
    );
    expect(result.decision.policyRevision).toMatch(/^builtin-[0-9a-f]{10}$/);
  });

  it('[S3] places no more than the grant of the tenant allows, what is on its way counted', () => {
    const picture = new TestPicture();
    const grant = { most: { cpuMilli: 3_500 }, epoch: { cell: 1, number: 1 }, source: 'Whole' } as const;
    picture.tenant('bank', {}, { grant, used: { cpuMilli: 1_000 } });
    picture.node('n1');
    picture.workload('web', { cpu: '1' });
    const result = turn(picture, 'web', 4);
    expect(nodesOf(result)).toHaveLength(2);
    expect(waitsOf(result)).toEqual(['QuotaExceeded', 'QuotaExceeded']);
    expect(result.decision.quota).toMatchObject({ used: { cpu: '1' }, grant: { cpu: '3500m' } });
    expect(waitsOf(turn(picture, 'web', 1))).toEqual(['QuotaExceeded']);
  });

  it('says what is known when there is no node, or no revision any more', () => {
    const picture = new TestPicture();
    picture.workload('web');
    expect(turn(picture, 'web', 1).waits).toMatchObject([
      { reason: 'NoNode', message: 'there is no node yet' },
    ]);
    picture.cell.apply(objectKey('WorkloadRevision', 'bank', 'web-r1'), undefined);
    expect(turn(picture, 'web', 1).waits).toMatchObject([{ reason: 'ReplicaChanged' }]);
  });

  it('spreads over zones as evenly as is demanded, also beside what is there already', () => {
    const picture = new TestPicture();
    picture.put('Region', undefined, 'local', { zones: ['a', 'b', 'c'] });
    for (const zone of ['a', 'b', 'c']) picture.node(`n-${zone}`, { spec: { zone } });
    picture.workload('web', { cpu: '1' }, { placement: { spread: [{ topology: 'Zone', maxSkew: 1 }] } });
    picture.cell.apply(workloadAccountKey('bank', 'web'), {
      regions: { local: 2 },
      zones: { 'local/a': 1, 'local/b': 1 },
      disrupted: 0,
    });
    const result = turn(picture, 'web', 4);
    expect(nodesOf(result)[0]).toBe('n-c');
    expect(nodesOf(result).slice(1).toSorted()).toEqual(['n-a', 'n-b', 'n-c']);
  });

  it('stops where a zone that must not fall behind has no room', () => {
    const picture = new TestPicture();
    picture.put('Region', undefined, 'local', { zones: ['a', 'b'] });
    picture.node('n-a', { spec: { zone: 'a' } });
    picture.node('n-b', { spec: { zone: 'b' }, cpuMilli: 1_000 });
    picture.workload('web', { cpu: '1' }, { placement: { spread: [{ topology: 'Zone' }] } });
    const result = turn(picture, 'web', 4);
    expect(nodesOf(result).toSorted()).toEqual(['n-a', 'n-a', 'n-b']);
    expect(result.waits[0]?.reason).toBe('NodeFull');
    expect(result.waits[0]?.reasons).toEqual(expect.arrayContaining(['SpreadViolated', 'NodeFull']));
  });

  it('keeps replicas apart from their own kind, and from those that want to be apart from them', () => {
    const picture = new TestPicture();
    for (const name of ['n1', 'n2', 'n3']) picture.node(name);
    picture.workload('web', { cpu: '1' }, { placement: { antiAffinity: [{ topology: 'Node' }] } });
    const selector = { matchLabels: { app: 'batch' } };
    picture.workload('shy', { cpu: '1' }, { placement: { antiAffinity: [{ topology: 'Node', selector }] } });
    picture.workload('batch', { cpu: '1' }, { template: { labels: { app: 'batch' } } });
    const webs = turn(picture, 'web', 4);
    expect(new Set(nodesOf(webs)).size).toBe(3);
    expect(waitsOf(webs)).toEqual(['AntiAffinity']);
    const [shy] = nodesOf(turn(picture, 'shy', 1));
    expect(nodesOf(turn(picture, 'batch', 2))).not.toContain(shy);
  });

  it('keeps replicas out of zones and regions where others are that they must be kept apart from', () => {
    for (const topology of ['Zone', 'Region'] as const) {
      const picture = new TestPicture();
      for (const zone of ['a', 'b']) picture.node(`n-${zone}`, { spec: { zone, region: `r-${zone}` } });
      const selector = { matchLabels: { app: 'batch' } };
      picture.workload('shy', { cpu: '1' }, { placement: { antiAffinity: [{ topology, selector }] } });
      picture.workload('batch', { cpu: '1' }, { template: { labels: { app: 'batch' } } });
      picture.workload('alone', { cpu: '1' }, { placement: { antiAffinity: [{ topology }] } });
      const [batch] = nodesOf(turn(picture, 'batch', 1));
      expect(nodesOf(turn(picture, 'shy', 2))).not.toContain(batch);
      const alone = turn(picture, 'alone', 3);
      expect(nodesOf(alone).toSorted()).toEqual(['n-a', 'n-b']);
      expect(waitsOf(alone)).toEqual(['AntiAffinity']);
    }
  });

  it('places the first of its kind anywhere and the others where it is, if they must be together', () => {
    for (const topology of ['Node', 'Zone', 'Region'] as const) {
      const picture = new TestPicture();
      for (const zone of ['a', 'b', 'c']) picture.node(`n-${zone}`, { spec: { zone, region: `r-${zone}` } });
      picture.workload('web', { cpu: '2' }, { placement: { affinity: [{ topology }] } });
      const policy: Policy = { ...builtinPolicy, strategy: 'Spread' };
      const result = turn(picture, 'web', 5, { policy });
      expect(new Set(nodesOf(result)).size, topology).toBe(1);
      expect(nodesOf(result)).toHaveLength(4);
      expect(result.waits[0]?.reasons.toSorted()).toEqual(['AffinityUnmet', 'NodeFull']);
    }
  });

  it('prefers what is asked for by name: near regions, no soft taints', () => {
    const picture = new TestPicture();
    picture.put('Region', undefined, 'eu', { latencyMs: { us: 90, uk: 10 } });
    picture.put('Region', undefined, 'us', {});
    for (const region of ['us', 'uk']) picture.node(`n-${region}`, { spec: { region } });
    picture.workload('near', { cpu: '1' }, { placement: { near: { region: 'eu' } } });
    expect(nodesOf(turn(picture, 'near', 1))).toEqual(['n-uk']);
    picture.node('soft', { spec: { taints: [{ key: 'old', effect: 'PreferNoSchedule' }] } });
    picture.node('hard', { spec: { taints: [{ key: 'old', effect: 'NoSchedule' }] } });
    picture.workload('plain', { cpu: '8' });
    expect(nodesOf(turn(picture, 'plain', 2)).toSorted()).toEqual(['n-us', 'soft']);
  });

  it('rather takes a node on which the workload has not failed lately', () => {
    for (const seed of [1, 2, 3, 4]) {
      const picture = new TestPicture();
      for (const name of ['good', 'bad']) picture.node(name);
      picture.workload('web', { cpu: '1' });
      picture.put('Replica', 'bank', 'web-9-1', {
        workload: 'web',
        slot: '9',
        incarnation: 1,
        revision: 'web-r1',
      });
      picture.cell.apply(statusKey('Replica', 'bank', 'web-9-1'), {
        status: { stage: 'Failed', binding: { node: 'bad' } },
      });
      expect(nodesOf(turn(picture, 'web', 1, { seed }))).toEqual(['good']);
    }
  });

  it('waits for nodes that were not heard of lately, or takes them last, as the workload says', () => {
    for (const onStale of ['Wait', 'Bind']) {
      const picture = new TestPicture();
      for (const name of ['n1', 'n2', 'n3']) picture.node(name, { cpuMilli: 1_000 });
      picture.workload('web', { cpu: '1' }, { placement: { freshness: { maxNodeAgeSeconds: 15, onStale } } });
      const ages = (node: string): number => (node === 'n2' ? 3_000 : 20_000);
      const result = turn(picture, 'web', 2, { ages });
      expect(nodesOf(result)[0]).toBe('n2');
      expect(nodesOf(result)).toHaveLength(onStale === 'Wait' ? 1 : 2);
      if (onStale === 'Wait') expect(waitsOf(result)).toEqual(['NodeStale']);
    }
  });

  it('places a slot of a Daemon on its node and on no other', () => {
    const picture = new TestPicture();
    picture.node('n1');
    picture.node('n2');
    picture.workload('logs', { cpu: '1' }, { spec: { type: 'Daemon' } });
    const [one, other] = picture.pending('logs', 2);
    if (one === undefined || other === undefined) throw new Error('no replicas');
    const replicas = [
      { ...one, slot: 'n2' },
      { ...other, slot: 'n9' },
    ];
    const result = propose(picture.cell, { classKey: 'bank/logs-r1', replicas }, options);
    expect(nodesOf(result)).toEqual(['n2']);
    expect(waitsOf(result)).toEqual(['NoNode']);
  });

  it('passes over nodes that are closed, never registered or must register again, each with its reason', () => {
    const picture = new TestPicture();
    const account = picture.node('closed');
    picture.cell.apply(nodeAccountKey('closed'), {
      ...account,
      gate: { state: 'Closed', reason: 'Suspect', since: '' },
    });
    picture.node('over');
    picture.cell.apply(nodeEpochKey('over'), {
      epoch: { cell: 1, number: 1 },
      state: 'Closed',
      operation: 'x',
    });
    picture.put('Node', undefined, 'new', {});
    picture.workload('web');
    const result = turn(picture, 'web', 1);
    expect(result.waits[0]?.reasons.toSorted()).toEqual(['GateClosed', 'NodeChanged']);
    expect(result.decision.rejections).toEqual(
      expect.arrayContaining([expect.objectContaining({ reason: 'NodeChanged', count: 2 })]),
    );
  });

  it('keeps of devices that nobody asks for what its scores looked at, so that it comes out the same again', () => {
    for (const seed of [1, 2, 3, 4]) {
      const picture = new TestPicture();
      for (const [name, used] of [
        ['idle', 0],
        ['busy', 2],
      ] as const)
        picture.node(name, {
          account: {
            allocatable: { cpuMilli: 8_000, memoryBytes: 16 * 1024 ** 3, devices: { gpu: 2 } },
            devices: { gpu: ['a', 'b'] },
            used: { devices: { gpu: used } },
          },
        });
      picture.workload('web', { cpu: '1' });
      const { decision, placements } = turn(picture, 'web', 1, { seed });
      const choices = placements.map(({ replica, node }) => ({
        replica: replica.name,
        uid: '',
        operation: '',
        node,
      }));
      expect(choices[0]?.node).toBe('busy');
      expect(replayDecision({ ...decision, choices }).differences).toEqual([]);
    }
  });

  it('breaks ties by seed and name alone', () => {
    const choices = [1, 2, 3, 4, 5, 6, 7, 8].map((seed) => {
      const picture = new TestPicture();
      for (const name of seed % 2 === 0 ? ['n1', 'n2', 'n3'] : ['n3', 'n2', 'n1']) picture.node(name);
      picture.workload('web', { cpu: '1' });
      const [first] = nodesOf(turn(picture, 'web', 1, { seed: Math.ceil(seed / 2) }));
      return first;
    });
    for (let at = 0; at < choices.length; at += 2) expect(choices[at]).toBe(choices[at + 1]);
    expect(new Set(choices).size).toBeGreaterThan(1);
  });
});
