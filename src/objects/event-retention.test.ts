import { describe, expect, it } from 'vitest';
import type { Env } from '../env/env.js';
import { VirtualTime } from '../env/virtual.js';
import type { BerthObject } from '../model/object.js';
import { Versions } from '../model/versions.js';
import { asRevision } from '../store/contract.js';
import { MemoryStore } from '../store/memory.js';
import { CachedObject } from './cached-object.js';
import { type AgedEvent, EventRetention, eventsToDelete } from './event-retention.js';
import { draft, kindOf, openObjects } from './open-objects.fixture.js';

const Event = kindOf('Event');
const Tenant = kindOf('Tenant');
const minuteMs = 60_000;
const key = (name: string) => ({ kind: 'Event', namespace: 'default', name });
const event = (name: string, fields: object = {}): BerthObject =>
  ({
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name },
    involvedObject: { kind: 'Workload', namespace: 'default', name: 'w' },
    reason: 'Tested',
    ...fields,
  }) as unknown as BerthObject;

type Opened = Awaited<ReturnType<typeof openObjects>>;

/** Runs the retention in virtual time beside a story, and ends both when the story ends. */
async function during(
  limits: { ttlMs: number; eventsMax: number },
  story: (opened: Opened, env: Env) => Promise<void>,
): Promise<void> {
  const world = new VirtualTime({ seed: 1 });
  const machine = world.machine('server');
  const { env } = machine;
  let failure: unknown = new Error('the story did not end');
  world.spawn(machine, 'server', async () => {
    const opened = await openObjects(new MemoryStore(env), env);
    await opened.objects.create(Tenant, undefined, draft('Tenant', 'default', {}));
    const stop = new AbortController();
    const running = new EventRetention({ ...opened, env, eventKind: Event, limits }).run(stop.signal);
    failure = await story(opened, env).catch((error: unknown) => error);
    stop.abort();
    await running;
    await opened.cache.close();
  });
  expect((await world.run()).kind).toBe('idle');
  if (failure !== undefined) throw failure as Error;
}
const names = ({ cache }: Opened): string[] => [...cache.list('Event')].map((cached) => cached.key.name);

describe('what is deleted of events', () => {
  const aged = (name: string, resourceVersion: string, ageMs: number): AgedEvent => {
    const object = event(name);
    const revision = asRevision(Number(resourceVersion));
    const stored = { value: object, revision, createRevision: revision };
    return { event: new CachedObject(key(name), stored, undefined, new Versions(0)), ageMs };
  };
  const chosen = (events: AgedEvent[], ttlMs: number, eventsMax: number): string[] =>
    eventsToDelete(events, { ttlMs, eventsMax }).map((cached) => cached.key.name);

  it('is what has stood for its time, and of what is too many the versions that are oldest', () => {
    const events = [aged('a', '10', 5), aged('b', '9', 6), aged('c', '100', 7), aged('d', '8', 20)];
    expect(chosen(events, 21, 4)).toEqual([]);
    expect(chosen(events, 20, 4)).toEqual(['d']);
    expect(chosen(events, 20, 2)).toEqual(['d', 'b']);
    expect(chosen(events, 100, 1)).toEqual(['d', 'b', 'a']);
    expect(chosen(events, 1, 4)).toHaveLength(4);
  });
});

describe('events', () => {
  it('are kept for their time after they were last written, whatever time they say themselves', () =>
    during({ ttlMs: 60 * minuteMs, eventsMax: 100 }, async (opened, env) => {
      const { objects } = opened;
      await objects.create(Event, 'default', event('once', { lastTimestamp: '2000-01-01T00:00:00Z' }));
      await objects.create(Event, 'default', event('again', { lastTimestamp: '2999-01-01T00:00:00Z' }));
      await env.sleep(50 * minuteMs);
      expect(names(opened)).toEqual(['again', 'once']);
      await objects.modify(Event, key('again'), 'spec', (live) => ({ ...live, count: 2 }));
      await env.sleep(11 * minuteMs);
      expect(names(opened)).toEqual(['again']);
      await env.sleep(40 * minuteMs);
      expect(names(opened)).toEqual(['again']);
      await env.sleep(10 * minuteMs);
      expect(names(opened)).toEqual([]);
    }));

  it('are bounded in number, and other objects are left alone', () =>
    during({ ttlMs: 60 * minuteMs, eventsMax: 100 }, async (opened, env) => {
      for (let n = 0; n < 250; n++) await opened.objects.create(Event, 'default', event(`e${1000 + n}`));
      await env.sleep(minuteMs);
      expect(names(opened)).toEqual(Array.from({ length: 100 }, (_, n) => `e${1150 + n}`));
      expect(opened.cache.get({ kind: 'Tenant', namespace: undefined, name: 'default' })).toBeDefined();
    }));

  it('go on being removed after the store was away', () =>
    during({ ttlMs: minuteMs, eventsMax: 100 }, async (opened, env) => {
      await opened.objects.create(Event, 'default', event('a'));
      const transact = opened.store.transact.bind(opened.store);
      opened.store.transact = () => Promise.resolve({ kind: 'UnknownOutcome', cause: new Error('lost') });
      await env.sleep(5 * minuteMs);
      expect(names(opened)).toEqual(['a']);
      opened.store.transact = transact;
      await env.sleep(minuteMs);
      expect(names(opened)).toEqual([]);
    }));
});
