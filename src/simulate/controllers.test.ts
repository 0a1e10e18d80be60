import { describe, expect, it } from 'vitest';
import { addNode, lead, proposal } from '../commit/open-authority.fixture.js';
import type { Gang } from '../model/kinds/gang.js';
import type { Endpoints } from '../model/kinds/endpoints.js';
import type { Lease } from '../model/kinds/lease.js';
import type { Replica } from '../model/kinds/replica.js';
import type { Reservation } from '../model/kinds/reservation.js';
import type { TenantLedger } from '../model/kinds/tenant-ledger.js';
import { openWorld, serviceSpec } from './controllers-world.fixture.js';
import type { StoreFaults } from './faulty-store.js';

async function withTenant(seed = 1) {
  const world = await openWorld(seed);
  await world.create('Tenant', undefined, 'default', {});
  return world;
}

/** A network that only takes its time. */
const slow: StoreFaults = {
  ...{ latencyMsMax: 60, timeoutMs: 400, unavailable: 0 },
  ...{ requestLost: 0, requestLate: 0, replyLost: 0, watchCut: 0 },
};

describe('the controllers over a store', () => {
  it('make the replicas of a new workload, and say what limits it', async () => {
    const { startServer, create, until, replicas, workload, objects } = await withTenant();
    startServer('one', { isAlone: true });
    await create('Workload', 'default', 'web', serviceSpec(3));
    await until(() => workload('web')?.status?.replicas === 3, 'the status counts its replicas');
    expect(replicas()).toEqual(['web-0-1 Queued', 'web-1-1 Queued', 'web-2-1 Queued']);
    expect(workload('web')?.metadata.finalizers).toEqual(['berth.dev/replicas']);
    expect([...objects.list('WorkloadRevision')]).toHaveLength(1);
    expect(workload('web')?.status).toMatchObject({
      ...{ desired: 3, readyReplicas: 0, observedGeneration: 1, selector: 'berth.dev/workload=web' },
      progress: { stages: { Queued: 3 }, limitedBy: 'Scheduling', nextMove: 'scheduler' },
    });
  });

  it('scale it up and down, the highest first, and forget what has ended', async () => {
    const { startServer, startPlacing, create, until, replicas, workload, changeSpec } = await withTenant();
    startServer('one', { isAlone: true });
    await startPlacing();
    await create('Workload', 'default', 'web', serviceSpec(2));
    await until(() => workload('web')?.status?.readyReplicas === 2, 'two are ready');
    await changeSpec('Workload', 'default', 'web', { replicas: 5 });
    await until(() => workload('web')?.status?.readyReplicas === 5, 'five are ready');
    await changeSpec('Workload', 'default', 'web', { replicas: 1 });
    await until(() => replicas().length === 1, 'one is left');
    expect(replicas()).toEqual(['web-0-1 Serving']);
    await changeSpec('Workload', 'default', 'web', { replicas: 2 });
    await until(() => replicas().join() === 'web-0-1 Serving,web-1-1 Serving', 'a slot can come again');
  });

  it('[L9] go quiet when there is nothing to do', async () => {
    const { world, startServer, startPlacing, create, until, workload, objects } = await withTenant();
    startServer('one', { isAlone: true });
    await startPlacing();
    await create('Workload', 'default', 'web', serviceSpec(3));
    await until(() => workload('web')?.status?.readyReplicas === 3, 'three are ready');
    await world.run(world.nowMs + 10_000);
    const leases = () => [...objects.list<Lease>('Lease')].map(({ metadata }) => metadata.resourceVersion);
    const before = leases();
    const changed: string[] = [];
    const stop = new AbortController();
    objects.follow(
      ({ kind, object }) => {
        if (kind !== 'Lease') changed.push(`${kind} ${object.metadata.name}`);
      },
      () => changed.push('gap'),
      stop.signal,
    );
    await world.run(world.nowMs + 300_000);
    stop.abort();
    expect(changed, 'nothing but leases is written').toEqual([]);
    expect(leases().filter((version) => !before.includes(version))).toHaveLength(5);
  });

  it('send clients to what has been ready long enough, not to what is not, and no more to what shall stop', async () => {
    const { world, startServer, startPlacing, create, until, replicas, objects, opened, ...rest } =
      await withTenant();
    startServer('one', { isAlone: true });
    await startPlacing();
    const template = { run: { process: { command: ['sleep', '1'] } }, minReadySeconds: 5 };
    await create('Workload', 'default', 'web', { type: 'Service', replicas: 2, template });
    const listed = () =>
      objects
        .get<Endpoints>('Endpoints', 'default', 'web')
        ?.status?.addresses?.map(({ replica }) => replica)
        .join();
    const replica = (name: string) => objects.get<Replica>('Replica', 'default', name);
    await until(() => replicas().join() === 'web-0-1 Ready,web-1-1 Ready', 'both are ready');
    const readyAtMs = world.nowMs;
    await until(() => listed() === 'web-0-1,web-1-1', 'both are listed');
    expect(world.nowMs - readyAtMs).toBeGreaterThan(4_000);
    const say = (isPassing: boolean) =>
      rest.run(() => {
        const { metadata, status } = replica('web-0-1') as Replica;
        return opened.authority.report({
          ...{ node: 'n1', nodeEpoch: { cell: 1, number: 1 }, fence: status?.binding?.fence ?? '' },
          replica: { tenant: 'default', name: metadata.name, uid: metadata.uid },
          ...{ stage: status?.stage ?? 'Ready', reason: 'Probed', readiness: { isPassing } },
          operation: `probe/${world.nowMs}`,
        });
      });
    await say(false);
    await until(() => listed() === 'web-1-1', 'one is not sent to any more');
    await until(() => replicas()[0] === 'web-0-1 Ready', 'its process goes on');
    await say(true);
    await until(() => listed() === 'web-0-1,web-1-1', 'it is well again');
    rest.behaviour.agentStops = false;
    await rest.changeSpec('Workload', 'default', 'web', { replicas: 1 });
    await until(() => listed() === 'web-0-1', 'what shall stop is not sent to any more');
    expect(replica('web-1-1')?.status).toMatchObject({ stage: 'Releasing' });
    expect(replica('web-1-1')?.status?.isListed).toBeUndefined();
  });

  it('replace a replica that failed, later each time, and keep the last two for people to look at', async () => {
    const { world, startServer, startPlacing, create, until, replicas, behaviour } = await withTenant();
    startServer('one', { isAlone: true });
    for (let incarnation = 1; incarnation <= 4; incarnation++)
      behaviour.exits.set(`web-0-${incarnation}`, 'Failed');
    await startPlacing();
    await create('Workload', 'default', 'web', serviceSpec(1));
    const startedMs = world.nowMs;
    await until(() => replicas().includes('web-0-5 Serving'), 'the fifth is ready');
    expect(world.nowMs - startedMs).toBeGreaterThan(1_000 + 2_000 + 4_000 + 8_000);
    await until(() => replicas().length === 3, 'older ones are forgotten');
    expect(replicas()).toEqual(['web-0-3 Failed', 'web-0-4 Failed', 'web-0-5 Serving']);
  });

  it('hold replicas of a suspended workload back until it goes on', async () => {
    const { world, startServer, startPlacing, create, until, replicas, changeSpec, workload } =
      await withTenant();
    startServer('one', { isAlone: true });
    await startPlacing();
    await create('Workload', 'default', 'web', serviceSpec(2, { suspend: true }));
    await until(() => replicas().length === 2, 'both are there');
    await world.run(world.nowMs + 5_000);
    expect(replicas()).toEqual(['web-0-1 Admitted', 'web-1-1 Admitted']);
    expect(workload('web')?.status?.progress).toMatchObject({ limitedBy: 'Authority', reason: 'Suspended' });
    await changeSpec('Workload', 'default', 'web', { suspend: false });
    await until(() => workload('web')?.status?.readyReplicas === 2, 'both are ready');
  });

  it('run a batch to its end', async () => {
    const { startServer, startPlacing, create, until, replicas, behaviour, workload } = await withTenant();
    startServer('one', { isAlone: true });
    for (const name of ['sum-0-1', 'sum-1-2', 'sum-2-1']) behaviour.exits.set(name, 'Succeeded');
    behaviour.exits.set('sum-1-1', 'Failed');
    await startPlacing();
    const batch = { completions: 3, backoffLimit: 1 };
    await create('Workload', 'default', 'sum', serviceSpec(2, { type: 'Batch', batch }));
    await until(
      () =>
        workload('sum')?.status?.conditions?.some(
          ({ type, status }) => type === 'Complete' && status === 'True',
        ) === true,
      'it is complete',
    );
    expect(workload('sum')?.status?.batch).toMatchObject({ succeeded: 3, failed: 1 });
    expect(replicas().filter((line) => line.endsWith('Succeeded'))).toHaveLength(3);
  });

  it('[S12] keep a deleted workload until its replicas have stopped, then let it go with its revisions', async () => {
    const {
      world,
      startServer,
      startPlacing,
      create,
      until,
      replicas,
      remove,
      behaviour,
      workload,
      objects,
      store,
      run,
    } = await withTenant();
    startServer('one', { isAlone: true });
    await startPlacing();
    await create('Workload', 'default', 'web', serviceSpec(3));
    await until(() => workload('web')?.status?.readyReplicas === 3, 'three are ready');
    behaviour.agentStops = false;
    await remove('Workload', 'default', 'web');
    await world.run(world.nowMs + 30_000);
    expect(replicas()).toEqual(['web-0-1 Releasing', 'web-1-1 Releasing', 'web-2-1 Releasing']);
    expect(workload('web')?.metadata.deletionTimestamp).toBeDefined();
    behaviour.agentStops = true;
    await until(() => workload('web') === undefined, 'the workload is gone');
    expect(replicas()).toEqual([]);
    await until(() => [...objects.list('WorkloadRevision')].length === 0, 'its revisions are gone');
    const { entries } = await run(() => store.read({ from: '/t/', to: '/t0' }));
    expect(entries, 'no slot record is left').toEqual([]);
  });

  it('[S3] grant tenants their limits, and follow when these change', async () => {
    const { startServer, create, until, changeSpec, objects, problems } = await withTenant();
    startServer('one', { isAlone: true });
    const granted = (tenant: string) =>
      objects.get<TenantLedger>('TenantLedger', undefined, tenant)?.status?.grant?.amounts;
    await until(() => granted('default') !== undefined, 'the tenant without a limit has a grant');
    expect(granted('default')).toEqual({});
    await create('Tenant', undefined, 'fraud', { limit: { cpu: '4', memory: '8Gi', replicas: 5 } });
    await until(() => granted('fraud')?.cpu === '4', 'the limit is granted');
    await changeSpec('Tenant', undefined, 'fraud', { limit: { cpu: '2500m', devices: { gpu: 1 } } });
    await until(() => granted('fraud')?.cpu === '2500m', 'the changed limit is granted');
    expect(granted('fraud')).toEqual({ cpu: '2500m', devices: { gpu: 1 } });
    expect(problems).toEqual([]);
  });

  it('[L4] a leader is killed in the middle of a scale-up: another takes over, under a new epoch, and goes on', async () => {
    const { startServer, startPlacing, create, until, replicas, workload, changeSpec, objects } =
      await withTenant();
    const first = startServer('first', { faults: slow });
    const epoch = () => objects.get<Lease>('Lease', undefined, 'workload-controller')?.spec;
    await until(() => epoch()?.holder === 'first', 'the first leads');
    startServer('second');
    await startPlacing();
    await create('Workload', 'default', 'web', serviceSpec(2));
    await until(() => workload('web')?.status?.readyReplicas === 2, 'two are ready');
    await changeSpec('Workload', 'default', 'web', { replicas: 1_000 });
    await until(() => replicas().length > 20, 'the scale-up has begun');
    first.kill();
    const left = replicas().length;
    expect(left).toBeLessThan(1_000);
    await until(() => replicas().length === 1_000, 'all are there');
    expect(epoch()).toMatchObject({ holder: 'second', epoch: { number: 2 } });
    expect(new Set(replicas().map((line) => line.split(' ')[0])).size).toBe(1_000);
  });

  it('[S8] a leader whose machine slept past its lease is refused, gives up, and leads again when it may', async () => {
    const { world, startServer, create, until, replicas, changeSpec, objects, problems } = await withTenant();
    const first = startServer('first');
    const lease = () => objects.get<Lease>('Lease', undefined, 'workload-controller')?.spec;
    await until(() => lease()?.holder === 'first', 'the first leads');
    const second = startServer('second');
    await create('Workload', 'default', 'web', serviceSpec(1));
    await until(() => replicas().length === 1, 'one is there');
    first.machine.suspend(60_000);
    await until(() => lease()?.holder === 'second', 'the second leads');
    // On its own clock the first one's lease is still good when it wakes up.
    await until(() => world.nowMs > 61_000, 'the first has woken up');
    await changeSpec('Workload', 'default', 'web', { replicas: 3 });
    await until(() => replicas().length === 3, 'three are there');
    second.stop();
    await until(() => lease()?.holder === 'first', 'the first leads again');
    expect(lease()?.epoch.number).toBe(3);
    await changeSpec('Workload', 'default', 'web', { replicas: 4 });
    await until(() => replicas().length === 4, 'four are there');
    expect(problems.filter(({ message }) => !message.startsWith('leads no longer: StaleEpoch'))).toEqual([]);
  });

  it('[L5] [L7] expire a hold that nobody binds, and delete it a minute later', async () => {
    const { world, startServer, create, until, replicas, run, opened, objects } = await withTenant();
    startServer('one', { isAlone: true });
    await create('Workload', 'default', 'web', serviceSpec(1));
    await until(() => replicas().join() === 'web-0-1 Queued', 'it is queued');
    const { authority } = opened;
    const [replica] = [...objects.list<Replica>('Replica')];
    if (replica === undefined) throw new Error('no replica');
    const epoch = await run(() => addNode(authority, 'n1'));
    const scheduler = await run(() => lead(authority, 'scheduler'));
    const asked = {
      ...proposal(scheduler, replica, 'n1', epoch),
      intent: 'Bind' as const,
      deadlineSeconds: 20,
    };
    await run(() => authority.reserve(asked));
    await until(() => replicas().join() === 'web-0-1 Scheduled', 'it is held');
    const heldMs = world.nowMs;
    const hold = () => [...objects.list<Reservation>('Reservation')][0];
    await until(() => hold()?.status?.state === 'Expired', 'the hold has expired');
    expect(world.nowMs - heldMs).toBeGreaterThanOrEqual(19_500);
    expect(world.nowMs - heldMs).toBeLessThanOrEqual(21_000);
    expect(replicas()).toEqual(['web-0-1 Queued']);
    await until(() => hold() === undefined, 'the hold is deleted', 120_000);
    expect(world.nowMs - heldMs).toBeGreaterThanOrEqual(79_000);
  });

  it('[L7] end and forget replicas whose workload somebody took away by force', async () => {
    const { startServer, startPlacing, create, until, replicas, run, objects, workload, remove } =
      await withTenant();
    startServer('one', { isAlone: true });
    await startPlacing();
    await create('Workload', 'default', 'web', serviceSpec(3));
    await until(() => workload('web')?.status?.readyReplicas === 3, 'three are ready');
    await remove('Workload', 'default', 'web');
    await run(() =>
      objects
        .modify('Workload', 'default', 'web', 'spec', (live) => ({
          ...live,
          metadata: { ...live.metadata, finalizers: [] },
        }))
        .catch(() => undefined),
    );
    await until(() => replicas().length === 0, 'nothing is left');
    await create('Workload', 'default', 'web', serviceSpec(1));
    await until(() => replicas().join() === 'web-0-1 Serving', 'the name can be used again');
  });

  it('make the gang of a workload before its members, and keep it current', async () => {
    const { startServer, create, until, replicas, objects, changeSpec } = await withTenant();
    startServer('one', { isAlone: true });
    await create('Workload', 'default', 'ring', serviceSpec(3, { gang: { minAvailable: 3 } }));
    await until(() => replicas().length === 3, 'the members are there');
    const gang = () => objects.get<Gang>('Gang', 'default', 'ring');
    expect(gang()?.spec).toEqual({ workload: 'ring', minAvailable: 3, members: 3 });
    expect([...objects.list<Replica>('Replica')].map(({ spec }) => spec.gang)).toEqual([
      'ring',
      'ring',
      'ring',
    ]);
    await changeSpec('Workload', 'default', 'ring', { replicas: 5 });
    await until(() => gang()?.spec.members === 5, 'the gang has grown');
  });

  it('[L4] a leader that stops gives its leases up, and another goes on at once', async () => {
    const { world, startServer, create, until, replicas, objects } = await withTenant();
    const first = startServer('first');
    const holder = () => objects.get<Lease>('Lease', undefined, 'workload-controller')?.spec.holder;
    await until(() => holder() === 'first', 'the first leads');
    startServer('second');
    await world.run(world.nowMs + 5_000);
    first.stop();
    await create('Workload', 'default', 'web', serviceSpec(1));
    await until(() => replicas().length === 1, 'the replica is there', 4_000);
    expect(first.hasStopped).toBe(true);
    expect(holder()).toBe('second');
  });
});

describe('the controllers over a faulty network', () => {
  const faults: StoreFaults = {
    ...{ latencyMsMax: 15, timeoutMs: 400, unavailable: 0.03 },
    ...{ requestLost: 0.03, requestLate: 0.03, replyLost: 0.05, watchCut: 0.05 },
  };

  it('[L2] [L4] [S12] come to the same end in 6 seeds, with leaders killed on the way', async () => {
    for (let seed = 1; seed <= 6; seed++) {
      const {
        startServer,
        startPlacing,
        create,
        until,
        replicas,
        changeSpec,
        remove,
        workload,
        store,
        run,
        objects,
      } = await withTenant(seed);
      const servers = new Map(
        ['first', 'second', 'third'].map((name) => [name, startServer(name, { faults })]),
      );
      await startPlacing();
      await create('Workload', 'default', 'web', serviceSpec(6));
      await create('Workload', 'default', 'api', serviceSpec(3));
      await until(() => replicas().filter((line) => line.endsWith('Serving')).length === 9, `seed ${seed}`);
      const leader = objects.get<Lease>('Lease', undefined, 'workload-controller')?.spec.holder ?? '';
      servers.get(leader)?.kill();
      await changeSpec('Workload', 'default', 'web', { replicas: 2 });
      await changeSpec('Workload', 'default', 'api', { replicas: 8 });
      await until(
        () => replicas().filter((line) => line.endsWith('Serving')).length === 10,
        `seed ${seed}: scaled`,
      );
      await until(() => replicas().length === 10, `seed ${seed}: forgotten`);
      const next = objects.get<Lease>('Lease', undefined, 'workload-controller')?.spec;
      expect([...servers.keys()]).toContain(leader);
      expect(next?.holder, `seed ${seed}`).not.toBe(leader);
      await remove('Workload', 'default', 'web');
      await remove('Workload', 'default', 'api');
      await until(() => workload('web') === undefined && workload('api') === undefined, `seed ${seed}: gone`);
      await until(() => replicas().length === 0, `seed ${seed}: no orphans`);
      const { entries } = await run(() => store.read({ from: '/t/', to: '/t0' }));
      expect(entries, `seed ${seed}`).toEqual([]);
    }
  }, 120_000);
});
