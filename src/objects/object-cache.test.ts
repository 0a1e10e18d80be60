import { describe, expect, it } from 'vitest';
import { realEnv } from '../env/real.js';
import { isBerthError } from '../model/errors.js';
import { asRevision, type Store } from '../store/contract.js';
import { MemoryStore } from '../store/memory.js';
import { CachedObjects } from './cached-objects.js';
import { CachedRecords } from './cached-records.js';
import { draft, kindOf, openObjects, workload } from './open-objects.fixture.js';
import { watchObjects } from './object-watch.js';

const Workload = kindOf('Workload');
const Tenant = kindOf('Tenant');
const keyOf = (name: string) => ({ kind: 'Workload', namespace: 'default', name });

async function openWithTenant(store: Store = new MemoryStore(realEnv())) {
  const opened = await openObjects(store, realEnv());
  await opened.objects.create(Tenant, undefined, draft('Tenant', 'default', {}));
  return opened;
}

/** A store whose watches are cut, and cannot be opened again, while `isCut`. */
function cuttable(inner: Store) {
  let stop = new AbortController();
  let isCut = false;
  const store: Store = {
    read: (range, options) => inner.read(range, options),
    transact: (transaction) => inner.transact(transaction),
    compact: (revision) => inner.compact(revision),
    close: () => inner.close(),
    watch: (range, options) => {
      if (isCut) throw new Error('cut off');
      const signals = [stop.signal, ...(options.signal ? [options.signal] : [])];
      return inner.watch(range, { ...options, signal: AbortSignal.any(signals) });
    },
  };
  return {
    store,
    set isCut(value: boolean) {
      isCut = value;
      if (value) stop.abort();
      else stop = new AbortController();
    },
  };
}

describe('the cache of objects', () => {
  it('hands back the very object that was written, without parsing it again', async () => {
    const { objects, cache } = await openWithTenant();
    const labels = { some: 'label' };
    await objects.create(Workload, 'default', workload('a', {}, { labels }));
    // The same labels, not equal ones: they never went through JSON.
    expect(cache.get(keyOf('a'))?.object.metadata.labels).toBe(labels);
    await cache.close();
  });

  it('[S11] tells of every change, also where taking them in was cut short and is done again', async () => {
    const store = new MemoryStore(realEnv());
    const { cache } = await openWithTenant(store);
    const watch = cache.watch({ after: cache.revision });
    const ended = new AbortController();
    let failures = 0;
    cache.listen((key) => {
      if (key.endsWith('/b') && (failures += 1) === 1) throw new Error('once');
    }, ended.signal);
    const value = (name: string): Buffer =>
      Buffer.from(JSON.stringify({ ...workload(name), metadata: { name, namespace: 'default', uid: name } }));
    await store.transact({
      guards: [],
      writes: ['a', 'b'].map((name) => ({
        kind: 'put',
        key: `/o/Workload/default/${name}`,
        value: value(name),
      })),
    });
    const told = (await watch.next()).value?.flatMap(({ changes }) =>
      changes.map(({ type, key }) => `${type} ${key.name}`),
    );
    expect(told?.toSorted()).toEqual(['ADDED a', 'ADDED b']);
    expect([...cache.list('Workload')].map(({ key }) => key.name)).toEqual(['a', 'b']);
    expect(failures).toBe(2);
    ended.abort();
    await cache.close();
  });

  it('counts objects and watchers, and says how far the slowest watcher is behind', async () => {
    const { objects, cache } = await openWithTenant();
    const watch = cache.watch({ after: cache.revision });
    expect(cache.watchers()).toEqual({ open: 1, waitingChangesMax: 0, revisionsBehindMax: 0 });
    for (const name of ['a', 'b', 'c']) await objects.create(Workload, 'default', workload(name));
    expect(cache.count('Workload')).toBe(3);
    expect(cache.watchers()).toEqual({ open: 1, waitingChangesMax: 3, revisionsBehindMax: 3 });
    await watch.next();
    expect(cache.watchers()).toEqual({ open: 1, waitingChangesMax: 0, revisionsBehindMax: 0 });
    await watch.return();
    await objects.delete(Workload, keyOf('a'));
    expect(cache.watchers().open).toBe(0);
    expect(cache.count('Workload')).toBe(2);
    await cache.close();
  });

  it('shows another cache over the same store the same objects', async () => {
    const store = new MemoryStore(realEnv());
    const first = await openWithTenant(store);
    for (let count = 0; count < 30; count++)
      await first.objects.create(Workload, 'default', workload(`w${count}`));
    await first.objects.delete(Workload, keyOf('w3'));
    const second = await openObjects(store, realEnv());
    const names = (opened: typeof first) =>
      [...opened.cache.list('Workload')].map(({ object }) => object.metadata.name);
    expect(names(second)).toEqual(names(first));
    expect(names(second)).toHaveLength(29);
    expect(second.objects.get(Workload, keyOf('w5'))).toEqual(first.objects.get(Workload, keyOf('w5')));
    await first.cache.close();
    await second.cache.close();
  });

  it('[S11] ends every watch with Expired when the history it needs is compacted away, and keeps nothing from before', async () => {
    const inner = new MemoryStore(realEnv());
    const link = cuttable(inner);
    const writer = await openWithTenant(inner);
    for (const name of ['kept', 'changed', 'deleted', 'anew'])
      await writer.objects.create(Workload, 'default', workload(name));
    const reader = await openObjects(link.store, realEnv());
    const stop = new AbortController();
    // Whoever keeps a picture of all records has the same one before and after.
    const records = new CachedRecords(reader.cache);
    const picture = new Map(records.entries('/'));
    records.follow(
      (key, value) => (value === undefined ? picture.delete(key) : picture.set(key, value)),
      stop.signal,
    );
    const followed: string[] = [];
    new CachedObjects({ ...reader, manager: 'test' }).follow(
      ({ type, object }) => followed.push(`${type} ${object.metadata.name}`),
      () => followed.push('gap'),
      stop.signal,
    );
    const before = reader.cache.version;
    const seen: string[] = [];
    const watching = (async (): Promise<void> => {
      for await (const { changes } of watchObjects(reader.cache, Workload, { after: before }))
        for (const { type, object } of changes) seen.push(`${type} ${object.metadata.name}`);
    })();
    const ended = watching.then(
      () => 'quietly',
      (error: unknown) => (isBerthError(error) ? error.code : error),
    );
    await writer.objects.create(Workload, 'default', workload('seen'));
    await reader.cache.notOlderThan(writer.cache.revision);

    link.isCut = true;
    await writer.objects.modify(Workload, keyOf('changed'), 'spec', (live) => ({
      ...live,
      spec: { ...live.spec, replicas: 7 },
    }));
    await writer.objects.delete(Workload, keyOf('deleted'));
    await writer.objects.delete(Workload, keyOf('anew'));
    await writer.objects.create(Workload, 'default', workload('anew'));
    await writer.objects.create(Workload, 'default', workload('new'));
    await inner.compact(writer.cache.revision);
    link.isCut = false;
    await reader.cache.notOlderThan(writer.cache.revision);
    expect(await ended).toBe('Expired');
    expect(seen).toEqual(['ADDED seen']);
    for (const after of [before, reader.objects.get(Workload, keyOf('seen')).metadata.resourceVersion])
      await expect(watchObjects(reader.cache, Workload, { after: Number(after) }).next()).rejects.toSatisfy(
        (error) => isBerthError(error, 'Expired'),
      );

    const shown = (opened: typeof reader) => [...opened.cache.list('Workload')].map(({ object }) => object);
    expect(shown(reader)).toEqual(shown(writer));
    expect(shown(reader).map(({ metadata }) => metadata.name)).toEqual([
      'anew',
      'changed',
      'kept',
      'new',
      'seen',
    ]);
    expect(picture).toEqual(new Map(records.entries('/')));
    expect(picture.has('/o/Workload/default/deleted')).toBe(false);

    const again = watchObjects(reader.cache, Workload, { after: reader.cache.version, signal: stop.signal });
    await writer.objects.create(Workload, 'default', workload('later'));
    const turn = (await again.next()).value;
    expect(turn?.changes.map(({ type, object }) => `${type} ${object.metadata.name}`)).toEqual([
      'ADDED later',
    ]);
    await expect.poll(() => picture.get('/o/Workload/default/later')).toBeDefined();
    await expect.poll(() => followed).toEqual(['ADDED seen', 'gap', 'ADDED later']);
    stop.abort();
    await writer.cache.close();
    await reader.cache.close();
  });

  it('tells a watcher that comes back too late to list again', async () => {
    const { objects, cache } = await openWithTenant();
    const before = cache.revision;
    await objects.create(Workload, 'default', workload('a'));
    const turn = await cache.watch({ after: before }).next();
    expect(turn.value?.[0]?.changes[0]?.type).toBe('ADDED');
    await expect(cache.watch({ after: asRevision(0) }).next()).rejects.toSatisfy((error) =>
      isBerthError(error, 'Expired'),
    );
    await cache.close();
  });

  it('turns a change of what matches into an arrival or a departure', async () => {
    const { objects, cache } = await openWithTenant();
    const seen: string[] = [];
    const stop = new AbortController();
    const watching = (async (): Promise<void> => {
      const matches = (object: { metadata: { labels?: Readonly<Record<string, string>> } }) =>
        object.metadata.labels?.['x'] === 'y';
      for await (const { changes } of watchObjects(cache, Workload, {
        after: cache.version,
        matches,
        signal: stop.signal,
      })) {
        seen.push(...changes.map(({ type }) => type));
      }
    })();
    const label = (labels: Record<string, string>) =>
      objects.modify(Workload, keyOf('a'), 'spec', (live) => ({
        ...live,
        metadata: { ...live.metadata, labels },
      }));
    await objects.create(Workload, 'default', workload('a'));
    await label({ x: 'y' });
    await label({ x: 'y', more: 'yes' });
    await label({ x: 'z' });
    await label({ x: 'y' });
    await objects.delete(Workload, keyOf('a'));
    await realEnv().sleep(5);
    stop.abort();
    await watching;
    expect(seen).toEqual(['ADDED', 'MODIFIED', 'DELETED', 'ADDED', 'DELETED']);
    await cache.close();
  });

  it('lists in pages that stand at one version, whatever happens in between', async () => {
    const { objects, lister, cache, store } = await openWithTenant();
    for (let count = 0; count < 25; count++)
      await objects.create(Workload, 'default', workload(`w${String(count).padStart(2, '0')}`));
    const first = await lister.list(Workload, { namespace: 'default', limit: 10 });
    expect(first.items).toHaveLength(10);
    expect(first.remaining).toBe(15);
    await objects.delete(Workload, keyOf('w15'));
    await objects.create(Workload, 'default', workload('w155'));
    await objects.update(
      Workload,
      keyOf('w20'),
      { ...objects.get(Workload, keyOf('w20')), status: { observedGeneration: 1 } },
      'status',
    );
    const names = first.items.map((item) => item.metadata.name);
    for (let token = first.continueToken; token !== undefined;) {
      const page = await lister.list(Workload, { namespace: 'default', limit: 10, continueToken: token });
      expect(page.version).toBe(first.version);
      names.push(...page.items.map((item) => item.metadata.name));
      expect(page.items.every((item) => item.status === undefined)).toBe(true);
      token = page.continueToken;
    }
    expect(names).toEqual(Array.from({ length: 25 }, (_, count) => `w${String(count).padStart(2, '0')}`));
    await store.compact(cache.revision);
    const late = lister.list(Workload, {
      namespace: 'default',
      limit: 10,
      continueToken: first.continueToken ?? '',
    });
    await expect(late).rejects.toSatisfy((error) => isBerthError(error, 'Expired'));
    await expect(lister.list(Workload, { continueToken: 'nonsense' })).rejects.toSatisfy((error) =>
      isBerthError(error, 'BadRequest'),
    );
    await cache.close();
  });
});
