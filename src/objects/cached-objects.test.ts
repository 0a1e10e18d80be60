import { describe, expect, it } from 'vitest';
import { realEnv } from '../env/real.js';
import { BerthError } from '../model/errors.js';
import type { BerthObject } from '../model/object.js';
import { MemoryStore } from '../store/memory.js';
import { CachedObjects } from './cached-objects.js';
import type { ObjectCache } from './object-cache.js';
import { draft, openObjects } from './open-objects.fixture.js';

async function open() {
  const env = realEnv();
  const opened = await openObjects(new MemoryStore(env), env);
  return { env, ...opened, port: new CachedObjects({ ...opened, manager: 'test' }) };
}
const region = (name: string): BerthObject => draft('Region', name, { zones: ['a'] });

describe('objects as controllers in the same process see them', () => {
  it('are created, read, listed, changed and deleted by uid', async () => {
    const { port } = await open();
    const made = await port.create('Region', undefined, region('eu'));
    expect(port.get('Region', undefined, 'eu')).toEqual(made);
    expect([...port.list('Region')]).toEqual([made]);
    const changed = await port.modify('Region', undefined, 'eu', 'spec', (live) => ({
      ...live,
      spec: { zones: ['a', 'b'] },
    }));
    expect(changed.metadata.generation).toBe(2);
    const same = await port.modify('Region', undefined, 'eu', 'spec', () => undefined);
    expect(same.metadata.resourceVersion, 'nothing was written').toBe(changed.metadata.resourceVersion);
    await expect(port.delete('Region', undefined, 'eu', 'another')).rejects.toMatchObject({
      code: 'Conflict',
    });
    await port.delete('Region', undefined, 'eu', made.metadata.uid);
    expect(port.get('Region', undefined, 'eu')).toBeUndefined();
    await expect(port.create('Nothing', undefined, {})).rejects.toMatchObject({ code: 'NotFound' });
  });

  it('tell every change after the call, in order, until the signal aborts', async () => {
    const { env, port } = await open();
    await port.create('Region', undefined, region('before'));
    const stop = new AbortController();
    const seen: string[] = [];
    port.follow(
      ({ type, kind, object }) => seen.push(`${type} ${kind} ${object.metadata.name}`),
      () => seen.push('gap'),
      stop.signal,
    );
    const made = await port.create('Region', undefined, region('eu'));
    await port.delete('Region', undefined, 'eu', made.metadata.uid);
    while (seen.length < 2) await env.sleep(1);
    expect(seen).toEqual(['ADDED Region eu', 'DELETED Region eu']);
    stop.abort();
    await port.create('Region', undefined, region('after'));
    await env.sleep(20);
    expect(seen).toHaveLength(2);
  });

  it('tell all others when one fails, which has a gap to look into', async () => {
    const { env, port } = await open();
    const { signal } = new AbortController();
    const seen: string[] = [];
    let isFirst = true;
    port.follow(
      () => {
        if (isFirst) {
          isFirst = false;
          throw new BerthError('StoreClosed', 'so it says');
        }
        seen.push('told again');
      },
      () => seen.push('gap'),
      signal,
    );
    port.follow(
      ({ object }) => seen.push(object.metadata.name),
      () => seen.push('no gap of its own'),
      signal,
    );
    await port.create('Region', undefined, region('eu'));
    await port.create('Region', undefined, region('us'));
    while (!seen.includes('us')) await env.sleep(1);
    expect(seen).toEqual(['gap', 'eu', 'told again', 'us']);
  });

  it('tell many, each of the kinds it asked for, from when it began until it goes', async () => {
    const { env, port } = await open();
    const seen: string[] = [];
    const stops = ['all', 'regions', 'others'].map((name) => {
      const stop = new AbortController();
      const kinds = { all: undefined, regions: new Set(['Region']), others: new Set(['Tenant']) }[name];
      port.follow(
        ({ object }) => seen.push(`${name} ${object.metadata.name}`),
        () => seen.push('gap'),
        stop.signal,
        kinds,
      );
      return stop;
    });
    await port.create('Region', undefined, region('eu'));
    // It was there before this one began, told to the others or not.
    const late = new AbortController();
    const onLate = ({ object }: { object: { metadata: { name: string } } }): unknown =>
      seen.push(`late ${object.metadata.name}`);
    port.follow(onLate, () => seen.push('gap'), late.signal);
    while (seen.length < 2) await env.sleep(1);
    stops[0]?.abort();
    await port.create('Region', undefined, region('us'));
    while (seen.length < 4) await env.sleep(1);
    expect(seen).toEqual(['all eu', 'regions eu', 'regions us', 'late us']);
    for (const stop of [...stops, late]) stop.abort();
    const again = new AbortController();
    port.follow(onLate, () => seen.push('gap'), again.signal);
    await port.create('Region', undefined, region('mars'));
    while (seen.length < 5) await env.sleep(1);
    expect(seen.at(-1)).toBe('late mars');
    again.abort();
  });

  it('say that changes may have been missed when a watch was cut, and go on from there', async () => {
    const { env, cache, objects, port } = await open();
    const cut = {
      watch: (): ReturnType<ObjectCache['watch']> => {
        const next = () => Promise.reject(new BerthError('SlowWatcher', 'fell behind'));
        return { next, return: next, [Symbol.asyncIterator]: () => cut.watch() };
      },
    };
    let cuts = 2;
    const cutCache = {
      get revision() {
        return cache.revision;
      },
      watch: (options: Parameters<ObjectCache['watch']>[0]) =>
        cuts-- > 0 ? cut.watch() : cache.watch(options),
    } as unknown as ObjectCache;
    const stop = new AbortController();
    const seen: string[] = [];
    new CachedObjects({ objects, cache: cutCache, manager: 'test' }).follow(
      ({ object }) => seen.push(object.metadata.name),
      () => seen.push('gap'),
      stop.signal,
    );
    while (seen.length < 2) await env.sleep(1);
    await port.create('Region', undefined, region('eu'));
    while (seen.length < 3) await env.sleep(1);
    expect(seen).toEqual(['gap', 'gap', 'eu']);
    stop.abort();
  });
});
