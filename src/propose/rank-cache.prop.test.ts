import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { builtinPolicy } from '../model/policy.js';
import { nodeAccountKey, nodeEpochKey, objectKey, statusKey } from '../model/records.js';
import { TestPicture } from './cell.fixture.js';
import type { Placement } from './contract.js';
import { propose } from './propose.js';
import { RankCache } from './rank-cache.js';
import { replayDecision } from './replay-decision.js';

const placements: readonly (object | undefined)[] = [
  undefined,
  { nodeSelector: { pool: 'a' } },
  { antiAffinity: [{ topology: 'Node' }] },
  { spread: [{ topology: 'Zone', maxSkew: 1 }] },
  { spread: [{ topology: 'Node', maxSkew: 2 }], freshness: { maxNodeAgeSeconds: 15, onStale: 'Wait' } },
  { affinity: [{ topology: 'Node', selector: { matchLabels: { app: 'w0' } } }] },
  {
    affinity: [{ topology: 'Zone', mode: 'Preferred' }],
    antiAffinity: [{ topology: 'Node', mode: 'Preferred' }],
  },
];

const node = fc.record({
  cpu: fc.integer({ min: 1, max: 8 }),
  gpus: fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2),
  pool: fc.constantFrom('a', 'b'),
  zone: fc.constantFrom('x', 'y', 'z'),
  isClosed: fc.boolean(),
});
const work = fc.record({
  cpu: fc.integer({ min: 1, max: 3 }),
  gpus: fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 0, 1),
  placement: fc.integer({ min: 0, max: placements.length - 1 }),
});
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ turn: fc.nat(5), count: fc.integer({ min: 1, max: 3 }) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      settle: fc.nat(50),
      how: fc.constantFrom('bound', 'refused', 'failed', 'failed'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ node: fc.nat(19), now: fc.option(node) }) },
  {
    weight: 3,
    arbitrary: fc.record({ ages: fc.array(fc.constantFrom(0, 60_000), { minLength: 40, maxLength: 40 }) }),
  },
  { weight: 1, arbitrary: fc.record({ again: fc.nat(19) }) },
  { weight: 3, arbitrary: fc.record({ forgotten: fc.nat(19) }) },
  { weight: 1, arbitrary: fc.record({ gone: fc.nat(19), instead: fc.nat(39), says: node }) },
);
const world = fc.record({
  nodes: fc.array(node, { minLength: 8, maxLength: 20 }),
  works: fc.array(work, { minLength: 1, maxLength: 3 }),
  steps: fc.array(step, { minLength: 20, maxLength: 60 }),
  classesMax: fc.constantFrom(1, 2, 64),
});

type NodeSays = typeof node extends fc.Arbitrary<infer T> ? T : never;

/** The same records and turns on two pictures: one remembers what was said of the nodes, the other looks at all again. */
class Pair {
  readonly pictures = [new TestPicture(), new TestPicture()] as const;
  readonly agesMs = new Map<string, number>();
  readonly assumed: Placement[] = [];
  readonly #failed: Placement['replica'][] = [];
  readonly #bound = new Map<string, { cpu: number; gpus: number; revisions: Record<string, number> }>();
  readonly #ranks: RankCache;
  readonly #offers = new Map<string, NodeSays>();
  #made = 0;

  constructor(
    private readonly works: readonly { readonly cpu: number; readonly gpus: number }[],
    classesMax: number,
  ) {
    this.#ranks = new RankCache(classesMax);
  }

  apply(key: string, value: unknown): void {
    for (const { cell } of this.pictures) cell.apply(key, value);
  }

  node(name: string, says: NodeSays | null): void {
    if (says === null) {
      this.#offers.delete(name);
      this.#bound.delete(name);
      for (const key of [objectKey('Node', undefined, name), nodeEpochKey(name), nodeAccountKey(name)])
        this.apply(key, undefined);
      return;
    }
    this.#offers.set(name, says);
    const { pool, zone } = says;
    this.apply(objectKey('Node', undefined, name), {
      metadata: { name, labels: { pool } },
      spec: { region: 'local', zone },
    });
    this.apply(nodeEpochKey(name), { epoch: { cell: 1, number: 1 }, state: 'Open', operation: '' });
    this.account(name);
  }

  account(name: string): void {
    const says = this.#offers.get(name);
    if (says === undefined) return;
    const { cpu, gpus, revisions } = this.#bound.get(name) ?? { cpu: 0, gpus: 0, revisions: {} };
    const ids = Array.from({ length: says.gpus }, (_, at) => `g${at}`);
    this.apply(nodeAccountKey(name), {
      gate: { state: says.isClosed ? 'Closed' : 'Open' },
      allocatable: {
        cpuMilli: says.cpu * 1_000,
        memoryBytes: 2 ** 34,
        ...(says.gpus > 0 && { devices: { gpu: says.gpus } }),
      },
      devices: { gpu: ids },
      used: {
        cpuMilli: cpu * 1_000,
        replicas: Object.values(revisions).reduce((sum, count) => sum + count, 0),
        devices: { gpu: gpus },
      },
      claims: { devices: Object.fromEntries(ids.slice(0, gpus).map((id) => [id, 'another'])), ports: {} },
      revisions,
    });
  }

  /** What was on its way arrives: bound, refused, or bound and failed at once. */
  settle(at: number, how: string): void {
    const [placement] = this.assumed.splice(at % Math.max(1, this.assumed.length), 1);
    if (placement === undefined) return;
    const { replica, node: name } = placement;
    if (how === 'refused') {
      for (const { cell } of this.pictures) cell.unassume(replica);
      return;
    }
    const { tenant, workload } = replica;
    this.apply(objectKey('Replica', tenant, replica.name), {
      metadata: { name: replica.name, namespace: tenant, uid: replica.uid },
      spec: { workload, slot: replica.slot, incarnation: 1, revision: `${workload}-r1` },
    });
    if (how === 'bound') {
      const asked = this.works[Number(workload.slice(1))];
      const on = this.#bound.get(name) ?? { cpu: 0, gpus: 0, revisions: {} };
      this.#bound.set(name, {
        cpu: on.cpu + (asked?.cpu ?? 0),
        gpus: on.gpus + (asked?.gpus ?? 0),
        revisions: { ...on.revisions, [replica.classKey]: (on.revisions[replica.classKey] ?? 0) + 1 },
      });
      this.account(name);
    }
    if (how === 'failed') this.#failed.push(replica);
    this.apply(statusKey('Replica', tenant, replica.name), {
      status: { stage: how === 'bound' ? 'Bound' : 'Failed', binding: { node: name } },
    });
  }

  /** One that failed is no longer remembered. */
  forget(at: number): void {
    const [replica] = this.#failed.splice(at % Math.max(1, this.#failed.length), 1);
    if (replica === undefined) return;
    this.apply(statusKey('Replica', replica.tenant, replica.name), undefined);
    this.apply(objectKey('Replica', replica.tenant, replica.name), undefined);
  }

  turn(workload: string, count: number) {
    const first = this.#made;
    this.#made += count;
    const replicas = Array.from({ length: count }, (_, at) => ({
      tenant: 'bank',
      name: `${workload}-${first + at}-1`,
      uid: `uid-${workload}-${first + at}`,
      classKey: `bank/${workload}-r1`,
      workload,
      slot: String(first + at),
      sinceMs: 0,
    }));
    const options = { policy: builtinPolicy, seed: 7, ages: (name: string) => this.agesMs.get(name) };
    const turn = { classKey: `bank/${workload}-r1`, replicas };
    const [kept, looked] = this.pictures;
    const result = propose(kept.cell, turn, { ...options, ranks: this.#ranks });
    const expected = propose(looked.cell, turn, options);
    this.assumed.push(...result.placements);
    const choices = result.placements.map(({ replica, node: name }) => ({
      replica: replica.name,
      uid: replica.uid,
      operation: '',
      node: name,
    }));
    return { result, expected, differences: replayDecision({ ...result.decision, choices }).differences };
  }
}

describe('what is remembered of the nodes between turns', () => {
  it('changes no result: placements, waits, decisions with their scores and rejections are those of a look at all', () => {
    let placed = 0;
    fc.assert(
      fc.property(world, ({ nodes, works, steps, classesMax }) => {
        const pair = new Pair(works, classesMax);
        for (const [at, says] of nodes.entries()) pair.node(`n${at}`, says);
        for (const [at, { cpu, gpus, placement }] of works.entries())
          for (const picture of pair.pictures)
            picture.workload(
              `w${at}`,
              { cpu: String(cpu), ...(gpus > 0 && { devices: { gpu: gpus } }) },
              {
                ...(placements[placement] && { placement: placements[placement] }),
                template: { labels: { app: `w${at}` } },
              },
            );
        for (const one of steps) {
          if ('turn' in one) {
            const { result, expected, differences } = pair.turn(`w${one.turn % works.length}`, one.count);
            expect(result).toEqual(expected);
            expect(differences).toEqual([]);
          } else if ('settle' in one) pair.settle(one.settle, one.how);
          else if ('node' in one) pair.node(`n${one.node}`, one.now);
          else if ('ages' in one) for (const [at, ms] of one.ages.entries()) pair.agesMs.set(`n${at}`, ms);
          else if ('forgotten' in one) pair.forget(one.forgotten);
          else if ('again' in one) pair.account(`n${one.again}`);
          else {
            pair.node(`n${one.gone}`, null);
            pair.node(`n${one.instead}`, one.says);
          }
        }
        placed += pair.assumed.length;
      }),
      { numRuns: 200 },
    );
    expect(placed).toBeGreaterThan(300);
  });

  const plain: NodeSays = { cpu: 8, gpus: 0, pool: 'a', zone: 'x', isClosed: false };
  /** So many alike, that one which changes is looked at alone. */
  const alike = (): Pair => {
    const pair = new Pair([{ cpu: 1, gpus: 0 }], 64);
    for (let at = 0; at < 64; at++) pair.node(`n${at}`, plain);
    for (const picture of pair.pictures) picture.workload('w0', { cpu: '1' }, {});
    return pair;
  };

  it('is given up when the first devices come to the cell, which count in the scores of all nodes', () => {
    for (let at = 0; at < 64; at++) {
      const pair = alike();
      pair.turn('w0', 1);
      pair.node(`n${at}`, { ...plain, gpus: 2 });
      // More than there is room for where the first one went.
      const { result, expected } = pair.turn('w0', 9);
      expect(result, `devices on n${at}`).toEqual(expected);
    }
  });

  it('is given up when a row goes from one node to another, whose name decides between equals', () => {
    const pair = alike();
    pair.turn('w0', 1);
    for (let at = 0; at < 40; at++) {
      pair.node(`n${at}`, null);
      pair.node(`m${at}`, plain);
      const { result, expected } = pair.turn('w0', 1);
      expect(result, `m${at} in the row of n${at}`).toEqual(expected);
    }
  });
});
