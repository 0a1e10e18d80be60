import { beforeEach, describe, expect, it } from 'vitest';
import { answer, done, type WorkloadOptions } from '../commit/test-cell.fixture.js';
import type { Replica } from '../model/kinds/replica.js';
import { CachedRecords } from '../objects/cached-records.js';
import { PlacementExplainer } from '../propose/explain/placement-explainer.js';
import { openPreemptingCell, type PreemptingCell } from './preempting-cell.fixture.js';

const high = { priorityClassName: 'high' };

describe('plans of preemption, carried out by the real authority', () => {
  let world: PreemptingCell;
  let byUid: Map<string, Replica>;

  const waiting = async (tenant: string, name: string, asks: object, options: WorkloadOptions = {}) => {
    const { cell } = world;
    const replica = await cell.incarnate(await cell.workload(tenant, name, asks, options));
    byUid.set(replica.metadata.uid, replica);
    return replica;
  };
  const place = async (
    tenant: string,
    name: string,
    node: string,
    asks: object,
    options: WorkloadOptions = {},
  ): Promise<Replica> => {
    const replica = await waiting(tenant, name, asks, options);
    await world.bindAndStart(replica, node);
    return replica;
  };
  const names = (refs: readonly { name: string }[] | undefined) => refs?.map(({ name }) => name);

  beforeEach(async () => {
    world = await openPreemptingCell();
    byUid = new Map();
    const { cell } = world;
    await cell.tenant('bank', { guaranteed: { cpu: '4' }, limit: { cpu: '100' } });
    await cell.tenant('shop');
    await cell.node('n1', { devices: { gpu: ['GPU-1', 'GPU-2'] } });
    await cell.node('n2');
  });

  it('priority over priority: the least harm is done, what victims free goes to the hold, and it is bound', async () => {
    const { cell } = world;
    await place('shop', 'big', 'n1', { cpu: '8' });
    const small = await place('shop', 'small', 'n2', { cpu: '5' });
    await place('shop', 'other', 'n2', { cpu: '3' }, high);
    const urgent = await waiting('shop', 'urgent', { cpu: '5', ports: ['http'] }, high);
    const [plan] = world.plan(urgent).plans;
    expect(plan).toMatchObject({ node: 'n2', frees: { cpuMilli: 5_000 } });
    expect(names(plan?.victims)).toEqual(['small-0-1']);
    if (plan === undefined) return;
    const hold = done(await world.reserve(urgent, plan));
    // Its replica holds, so nobody is asked for it a second time; nor is anything else that is awaited planned with.
    expect((await cell.status(small)).stage).toBe('Releasing');
    const later = await waiting('shop', 'later', { cpu: '5' }, high);
    expect(names(world.plan(later).plans[0]?.victims)).toEqual(['big-0-1']);
    expect(answer(await cell.bind(urgent, 'n2'))).toMatch(/still waits for small-0-1$/);
    await world.endVictims(byUid, plan);
    expect(await cell.hold('shop', hold)).toMatchObject({ awaits: [] });
    await world.bindAndStart(urgent, 'n2');
  });

  it('[L6] are foreseen by who explains why a replica waits, and not where none would be made', async () => {
    const { cell } = world;
    for (const node of ['n1', 'n2']) await place('shop', `on-${node}`, node, { cpu: '8' });
    const explainer = new PlacementExplainer({
      ...{ records: new CachedRecords(cell.cache), env: cell.env, ages: () => 0 },
    });
    const roomFor = async (replica: Replica) => (await explainer.factsOf(replica))?.room;
    const urgent = await waiting('shop', 'urgent', { cpu: '5' }, high);
    const [plan] = world.plan(urgent).plans;
    const foreseen = await explainer.factsOf(urgent);
    expect(foreseen).toMatchObject({ isPlaceable: false, room: { evictions: 1 } });
    expect(['n1', 'n2']).toContain(foreseen?.room?.node);
    expect(await roomFor(await waiting('shop', 'equal', { cpu: '5' }))).toBeUndefined();
    expect(await roomFor(await waiting('shop', 'huge', { cpu: '50' }, high))).toBeUndefined();
    if (plan === undefined) return;
    done(await world.reserve(urgent, plan));
    expect(await roomFor(await waiting('shop', 'beside', { cpu: '3' })), 'the rest comes free').toEqual({
      ...{ node: plan.node, evictions: 0 },
    });
  });

  it('[L10] a guarantee is reclaimed from a borrower of a higher priority, against its limit', async () => {
    const { cell } = world;
    const strict = { ...high, disruption: { maxUnavailable: 0 } };
    await place('shop', 'one', 'n1', { cpu: '8' }, strict);
    await place('shop', 'two', 'n2', { cpu: '8' }, strict);
    const own = await waiting('bank', 'own', { cpu: '4' });
    const beyond = await waiting('bank', 'beyond', { cpu: '1' });
    const [plan] = world.plan(own).plans;
    expect(plan?.victims).toHaveLength(1);
    if (plan === undefined) return;
    done(await world.reserve(own, plan));
    // The guarantee is used up: the next one is borrowed as well, and ranks below. It gets what comes free beside.
    expect(world.plan(beyond)).toMatchObject({ plans: [], comesFree: [{ node: plan.node }] });
    await world.endVictims(byUid, plan);
    await world.bindAndStart(own, plan.node);
    expect((await cell.status(own)).charge?.rank).toBe('Guaranteed');
    await world.bindAndStart(beyond, plan.node);
    expect((await cell.status(beyond)).charge?.rank).toBe('Borrowed');
  });

  it('[S1] devices and ports that victims have come with them', async () => {
    const { cell } = world;
    const gpus = await place('shop', 'gpus', 'n1', { devices: { gpu: 2 } });
    await place('shop', 'port', 'n1', { cpu: '1', ports: ['web:8080'] });
    const urgent = await waiting('shop', 'urgent', { devices: { gpu: 1 }, ports: ['web:8080'] }, high);
    const [plan] = world.plan(urgent).plans;
    expect(names(plan?.victims)?.toSorted()).toEqual(['gpus-0-1', 'port-0-1']);
    if (plan === undefined) return;
    done(await world.reserve(urgent, plan));
    await world.endVictims(byUid, plan);
    await world.bindAndStart(urgent, 'n1');
    const { charge } = await cell.status(urgent);
    expect(charge).toMatchObject({ devices: { gpu: ['GPU-1'] }, ports: { web: 8080 } });
    expect((await cell.status(gpus)).stage).toBe('Released');
  });

  it('a plan that is on its way is counted until it is held or refused', async () => {
    await place('shop', 'one', 'n1', { cpu: '8' });
    await place('shop', 'two', 'n2', { cpu: '8' });
    const [first, second, third] = [
      await waiting('shop', 'first', { cpu: '8' }, high),
      await waiting('shop', 'second', { cpu: '8' }, high),
      await waiting('shop', 'third', { cpu: '8' }, high),
    ];
    const [one] = world.plan(first).plans;
    const [two] = world.plan(second).plans;
    expect(new Set([one?.node, two?.node])).toEqual(new Set(['n1', 'n2']));
    expect(world.plan(third).plans).toEqual([]);
    if (one === undefined || two === undefined) return;
    world.picture.unassume(one.replica);
    expect(world.plan(third).plans).toMatchObject([{ node: one.node }]);
    done(await world.reserve(second, two));
    expect(world.picture.isAssumed(two.replica)).toBe(false);
  });

  it('a hold that is given up frees its victims for others, and nobody more is asked to leave', async () => {
    const { cell } = world;
    await place('shop', 'one', 'n1', { cpu: '8' });
    await place('shop', 'two', 'n2', { cpu: '8' });
    const first = await waiting('shop', 'first', { cpu: '4' }, high);
    const second = await waiting('shop', 'second', { cpu: '4' }, high);
    const [plan] = world.plan(first).plans;
    if (plan === undefined) throw new Error('no plan');
    const hold = done(await world.reserve(first, plan));
    // What the victim frees beyond what is awaited is enough for the second.
    expect(world.plan(second)).toMatchObject({ plans: [], comesFree: [{ node: plan.node }] });
    done(await cell.releaseHold('shop', hold));
    const [again] = world.plan(second).plans;
    expect(again).toMatchObject({ node: plan.node, victims: plan.victims });
    if (again === undefined) return;
    done(await world.reserve(second, again));
    await world.endVictims(byUid, again);
    await world.bindAndStart(second, plan.node);
  });
});
