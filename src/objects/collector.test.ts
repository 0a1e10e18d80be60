import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { realEnv } from '../env/real.js';
import { kinds } from '../model/kinds.js';
import type { BerthObject } from '../model/object.js';
import { MemoryStore } from '../store/memory.js';
import { Collector } from './collector.js';
import type { Propagation } from './object-store.js';
import { draft, kindOf, openObjects, workload } from './open-objects.fixture.js';

const Workload = kindOf('Workload');
const Tenant = kindOf('Tenant');
const keyOf = (name: string) => ({ kind: 'Workload', namespace: 'default', name });

describe('the collector', () => {
  let opened: Awaited<ReturnType<typeof openObjects>>;
  let stop: AbortController;
  let running: Promise<void>;
  beforeEach(async () => {
    const env = realEnv();
    opened = await openObjects(new MemoryStore(env), env);
    await opened.objects.create(Tenant, undefined, draft('Tenant', 'default', {}));
    stop = new AbortController();
    running = new Collector({ ...opened, env, kinds }).run(stop.signal);
  });
  afterEach(async () => {
    stop.abort();
    await running;
    await opened.cache.close();
  });

  const create = async (
    name: string,
    owner?: BerthObject,
    more: object = {},
    reference: object = {},
  ): Promise<BerthObject> => {
    const ownerReferences =
      owner === undefined
        ? []
        : [
            {
              apiVersion: owner.apiVersion,
              kind: owner.kind,
              name: owner.metadata.name,
              uid: owner.metadata.uid,
              ...reference,
            },
          ];
    return (
      await opened.objects.create(Workload, 'default', workload(name, {}, { ownerReferences, ...more }))
    ).object;
  };
  const remove = (name: string, propagation?: Propagation) =>
    opened.objects.delete(Workload, keyOf(name), propagation === undefined ? {} : { propagation });
  const has = (name: string): boolean => opened.cache.get(keyOf(name)) !== undefined;
  const gone = async (name: string): Promise<void> => {
    await expect.poll(() => has(name), { timeout: 30_000, interval: 10 }).toBe(false);
  };
  const clearFinalizers = (name: string) =>
    opened.objects.modify(Workload, keyOf(name), 'spec', (live) => ({
      ...live,
      metadata: { ...live.metadata, finalizers: [] },
    }));

  it('in the background: deletes what a deleted owner leaves behind, all the way down', async () => {
    const owner = await create('owner');
    const child = await create('child', owner);
    await create('grandchild', child);
    await create('stranger');
    expect((await remove('owner')).isGone).toBe(true);
    await gone('child');
    await gone('grandchild');
    expect(has('stranger')).toBe(true);
  });

  it('takes an owner with the same name but another uid for somebody else', async () => {
    const owner = await create('owner');
    await create('child', { ...owner, metadata: { ...owner.metadata, uid: 'of an earlier one' } });
    await gone('child');
    expect(has('owner')).toBe(true);
  });

  it('keeps what still has one living owner', async () => {
    const [one, two] = [await create('one'), await create('two')];
    const reference = (owner: BerthObject) => ({
      apiVersion: owner.apiVersion,
      kind: owner.kind,
      name: owner.metadata.name,
      uid: owner.metadata.uid,
    });
    await create('shared', undefined, { ownerReferences: [reference(one), reference(two)] });
    await remove('one');
    await realEnv().sleep(50);
    expect(has('shared')).toBe(true);
    await remove('two');
    await gone('shared');
  });

  it('in the foreground: a child with a finalizer holds its owner until it is gone', async () => {
    const owner = await create('owner');
    await create('child', owner, { finalizers: ['example.dev/busy'] }, { blockOwnerDeletion: true });
    expect((await remove('owner', 'Foreground')).isGone).toBe(false);
    await expect
      .poll(() => opened.cache.get(keyOf('child'))?.object.metadata.deletionTimestamp)
      .toBeDefined();
    await realEnv().sleep(50);
    expect(has('owner')).toBe(true);
    await clearFinalizers('child');
    await gone('child');
    await gone('owner');
  });

  it('in the foreground: an owner is blocked only by those that say so', async () => {
    const owner = await create('owner');
    await create('blocking', owner, { finalizers: ['example.dev/busy'] }, { blockOwnerDeletion: true });
    await create('casual', owner, { finalizers: ['example.dev/busy'] });
    await remove('owner', 'Foreground');
    await expect
      .poll(() => opened.cache.get(keyOf('casual'))?.object.metadata.deletionTimestamp)
      .toBeDefined();
    await clearFinalizers('blocking');
    await gone('owner');
    expect(has('casual')).toBe(true);
    await clearFinalizers('casual');
    await gone('casual');
  });

  it('orphans: a child is let go of before its owner goes, and stays', async () => {
    const owner = await create('owner');
    await create('child', owner);
    await remove('owner', 'Orphan');
    await gone('owner');
    await realEnv().sleep(50);
    expect(opened.cache.get(keyOf('child'))?.object.metadata.ownerReferences ?? []).toEqual([]);
  });

  it('empties a tenant before it lets it go', async () => {
    await create('a');
    await create('b', undefined, { finalizers: ['example.dev/busy'] });
    const key = { kind: 'Tenant', namespace: undefined, name: 'default' };
    expect((await opened.objects.delete(Tenant, key)).isGone).toBe(false);
    await gone('a');
    expect(opened.cache.get(key)).toBeDefined();
    await clearFinalizers('b');
    await expect.poll(() => opened.cache.get(key)).toBeUndefined();
  });
});
