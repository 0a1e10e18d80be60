import { describe, expect, it } from 'vitest';
import { CachedObjects } from '../objects/cached-objects.js';
import { kindOf } from '../objects/open-objects.fixture.js';
import { answer, done, openTestCell, type TestCell } from './test-cell.fixture.js';

const shop = { kind: 'Tenant', namespace: undefined, name: 'shop' };

/** As the collector does with a tenant in which nothing is left. */
async function letGo(cell: TestCell): Promise<void> {
  await cell.objects.delete(kindOf('Tenant'), shop);
  await new CachedObjects({ ...cell, manager: 'test' }).modify(
    'Tenant',
    undefined,
    'shop',
    'spec',
    (live) => ({
      ...live,
      metadata: { ...live.metadata, finalizers: [] },
    }),
  );
}

describe('a tenant that goes', () => {
  it('[S4] gets nothing made, held or bound once it is gone', async () => {
    const cell = await openTestCell();
    await cell.tenant('shop');
    await cell.node('n1');
    const web = await cell.workload('shop', 'web', { cpu: '1' }, { replicas: 2 });
    const replica = await cell.incarnate(web);
    await letGo(cell);
    expect(answer(await cell.bind(replica, 'n1'))).toBe('ReplicaChanged: tenant shop is gone');
    expect(answer(await cell.reserve(replica, 'n1'))).toBe('ReplicaChanged: tenant shop is gone');
    expect(answer(await cell.tryIncarnate(web, '1'))).toBe('ReplicaChanged: tenant shop is gone');
  });

  it('[S3] leaves no grant to the next of its name', async () => {
    const cell = await openTestCell();
    await cell.tenant('shop');
    await letGo(cell);
    expect(await cell.record('/a/tenant/shop')).toBeUndefined();
    await cell.create('Tenant', undefined, 'shop', { limit: { cpu: '1' } });
    await cell.node('n1');
    const replica = await cell.incarnate(await cell.workload('shop', 'web', { cpu: '4' }));
    expect(answer(await cell.bind(replica, 'n1'))).toMatch(/^GrantExhausted/);
    done(await cell.grant('shop'));
    expect(answer(await cell.bind(replica, 'n1'))).toMatch(/^QuotaExceeded/);
  });
});
