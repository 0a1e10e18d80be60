import { describe, expect, it } from 'vitest';
import type { Endpoints } from '../model/kinds/endpoints.js';
import type { BerthObject } from '../model/object.js';
import type { Publish } from '../model/ports.js';
import { answer, done, openTestCell, refOf } from './test-cell.fixture.js';

async function openServing() {
  const cell = await openTestCell();
  await cell.tenant('t');
  await cell.node('n1');
  const workload = await cell.workload('t', 'api', { cpu: '1' });
  const replica = await cell.incarnate(workload);
  done(await cell.bind(replica, 'n1'));
  for (const stage of ['Starting', 'Ready'] as const) done(await cell.report(replica, stage));
  done(await cell.move(replica, 'endpoints-controller', 'Serving'));
  const address = { replica: replica.metadata.name, node: 'n1', address: '10.0.0.1' };
  const endpoints = (): BerthObject | undefined =>
    cell.cache.get({ kind: 'Endpoints', namespace: 't', name: 'api' })?.object;
  const publish = (more: Partial<Publish> = {}, seen = endpoints()?.metadata.resourceVersion) =>
    cell.authority.publish({
      ...{ actor: cell.actors['endpoints-controller'], tenant: 't', workload: 'api' },
      workloadUid: workload.metadata.uid,
      endpoints: { addresses: [address], source: 'Current' },
      leaving: [],
      ...(seen !== undefined && { seen }),
      ...more,
    });
  const none = { addresses: [], source: 'Current' } as const;
  return { cell, replica, publish, endpoints, none, ref: refOf(replica) };
}

describe('withdraw', () => {
  it('[S6] one that shall stop leaves endpoints that were published without it, and no others', async () => {
    const { cell, replica, publish, endpoints, none, ref } = await openServing();
    const withdraw = (seen: string, actor = cell.actors['endpoints-controller']) =>
      cell.authority.withdraw({ actor, replica: ref, workload: 'api', seen });
    const version = (): string => endpoints()?.metadata.resourceVersion ?? '0';
    done(await publish());
    const named = version();
    done(await publish({ endpoints: none }));
    expect(answer(await withdraw(version()))).toBe(
      'EndpointsChanged: api-0-1 shall not stop: it leaves with a publication',
    );
    done(await publish());
    done(await cell.evict(replica));
    expect(answer(await withdraw(version()))).toMatch(/^EndpointsChanged: .* and name api-0-1$/);
    const published = await publish({ endpoints: none });
    expect(published).toMatchObject({ kind: 'Committed', revision: version() });
    expect(answer(await withdraw(named))).toMatch(/^EndpointsChanged: endpoints t\/api are at \d+, not at/);
    expect(answer(await withdraw(version(), cell.actors.scheduler))).toMatch(/^NotOwner/);
    expect((await cell.status(replica)).isListed).toBe(true);
    done(await withdraw(version()));
    expect((await cell.status(replica)).isListed).toBeUndefined();
    expect(await withdraw(named)).toMatchObject({ kind: 'AlreadyCommitted' });
  });
});

describe('publish', () => {
  it('lists who serves, owned by its workload; who leaves is listed no more in the same transaction', async () => {
    const { cell, replica, publish, endpoints, none, ref } = await openServing();
    expect(await cell.status(replica)).toMatchObject({ stage: 'Serving', isListed: true });
    done(await publish());
    expect(endpoints()).toMatchObject({
      metadata: { ownerReferences: [{ kind: 'Workload', name: 'api' }] },
      status: { addresses: [{ replica: 'api-0-1' }] },
    });
    done(await cell.evict(replica));
    expect(await cell.status(replica)).toMatchObject({ stage: 'Releasing', isListed: true });
    done(await publish({ endpoints: none, leaving: [ref] }));
    expect((await cell.status(replica)).isListed).toBeUndefined();
    expect((endpoints() as Endpoints | undefined)?.status?.addresses).toEqual([]);
  });

  it('what was decided before another publication is refused, also if that one changed nothing', async () => {
    const { publish, endpoints, none, ref } = await openServing();
    done(await publish());
    const seen = endpoints()?.metadata.resourceVersion;
    done(await publish({ endpoints: none, leaving: [ref] }));
    expect(answer(await publish({}, seen))).toMatch(/^EndpointsChanged: endpoints t\/api are at \d+, not at/);
    const again = endpoints()?.metadata.resourceVersion;
    done(await publish({ endpoints: none }));
    expect(answer(await publish({}, again))).toMatch(/^EndpointsChanged/);
  });

  it('[S6] [S8] is for the endpoints controller under its epoch; nobody leaves and is listed at once', async () => {
    const { cell, publish, ref } = await openServing();
    const actor = cell.actors['endpoints-controller'];
    expect(answer(await publish({ actor: cell.actors.scheduler }))).toMatch(/^NotOwner/);
    const old = { ...actor, lease: { name: 'endpoints-controller', epoch: { cell: 1, number: 9 } } };
    expect(answer(await publish({ actor: old }))).toMatch(/^StaleEpoch/);
    expect(answer(await publish({ leaving: [ref] }))).toMatch(/^EndpointsChanged: api-0-1 is listed/);
    expect(answer(await publish({ workloadUid: 'other' }))).toMatch(
      /^EndpointsChanged: workload t\/api is gone/,
    );
  });
});
