import { describe, expect, it } from 'vitest';
import type { Env } from '../env/env.js';
import { VirtualTime } from '../env/virtual.js';
import { isBerthError } from '../model/errors.js';
import { kindNamed } from '../model/kinds.js';
import type { BerthObject } from '../model/object.js';
import { Validator } from '../model/validate.js';
import { Versions } from '../model/versions.js';
import { Admission } from '../objects/admission.js';
import { Codec } from '../objects/codec.js';
import { SharedStore } from '../objects/freshness.js';
import { ObjectCache } from '../objects/object-cache.js';
import { ObjectStore } from '../objects/object-store.js';
import { watchObjects } from '../objects/object-watch.js';
import { MemoryStore } from '../store/memory.js';
import { FaultyStore, type StoreFaults } from './faulty-store.js';

const faults: StoreFaults = {
  ...{ latencyMsMax: 15, timeoutMs: 400, unavailable: 0.03 },
  ...{ requestLost: 0.03, requestLate: 0.03, replyLost: 0.05, watchCut: 0.05 },
};
const servers = 3;
const clientsPerServer = 4;
const rounds = 8;
const key = { kind: 'PriorityClass', namespace: undefined, name: 'shared' };
const validator = new Validator();

function kindOf(name: string) {
  const kind = kindNamed(name);
  if (kind === undefined) throw new Error(`no kind ${name}`);
  return kind;
}
const PriorityClass = kindOf('PriorityClass');

/** One server: a cache and an object store of its own over the shared store, reached through a faulty network. */
async function openServer(store: MemoryStore, env: Env) {
  const view = new FaultyStore(store, env, faults);
  const codec = new Codec();
  const cache = new ObjectCache({ store: view, env, codec, versions: new Versions(0) });
  for (;;) {
    try {
      await cache.start();
      break;
    } catch (error) {
      if (!isBerthError(error, 'StoreUnavailable')) throw error;
      await env.sleep(100);
    }
  }
  const admission = new Admission(validator);
  return {
    cache,
    objects: new ObjectStore({
      store: view,
      cache,
      freshness: new SharedStore({ store: view, cache, env }),
      codec,
      env,
      admission,
      tenantKind: kindOf('Tenant'),
    }),
  };
}

/** Adds one mark to the shared object, once, whatever times out: the mark itself says whether it is there already. */
async function addMark(objects: ObjectStore, env: Env, mark: string): Promise<void> {
  for (;;) {
    try {
      await objects.modify(PriorityClass, key, 'spec', (live) => {
        const annotations = live.metadata.annotations ?? {};
        if (annotations[mark] !== undefined) return live;
        const count = String(Number(annotations['count'] ?? '0') + 1);
        return {
          ...live,
          metadata: { ...live.metadata, annotations: { ...annotations, count, [mark]: 'x' } },
        };
      });
      return;
    } catch (error) {
      if (!isBerthError(error)) throw error;
      await env.sleep(50 + env.random.integer(200));
    }
  }
}

async function simulate(seed: number): Promise<{ object: BerthObject; counts: string[][]; trace: string }> {
  const trace: string[] = [];
  const world = new VirtualTime({ seed, trace: (line) => trace.push(line) });
  const store = new MemoryStore(world.machine('store').env);
  const counts: string[][] = [];
  const stop = new AbortController();
  let working = servers * clientsPerServer;
  for (let server = 0; server < servers; server++) {
    const machine = world.machine(`server-${server}`);
    const { env } = machine;
    world.spawn(machine, `server ${server}`, async () => {
      const { cache, objects } = await openServer(store, env);
      const draft = {
        apiVersion: 'berth.dev/v1',
        kind: 'PriorityClass',
        metadata: { name: 'shared' },
        spec: { value: 1 },
      };
      while (cache.get(key) === undefined) {
        await objects
          .create(PriorityClass, undefined, draft as unknown as BerthObject)
          .catch(() => undefined);
        await env.sleep(100);
      }
      const seen: string[] = [];
      counts.push(seen);
      const watching = (async (): Promise<void> => {
        for await (const { changes } of watchObjects(cache, PriorityClass, {
          after: cache.version,
          signal: stop.signal,
        })) {
          for (const { object } of changes) seen.push(object.metadata.annotations?.['count'] ?? '0');
        }
      })();
      const clients = Array.from({ length: clientsPerServer }, async (_, client) => {
        for (let round = 0; round < rounds; round++)
          await addMark(objects, env, `m-${server}-${client}-${round}`);
        working -= 1;
      });
      await Promise.all(clients);
      while (working > 0) await env.sleep(100);
      // Time for the last change to come through.
      await env.sleep(3_000);
      stop.abort();
      await watching;
      await cache.close();
    });
  }
  const end = await world.run();
  expect(end.kind).toBe('idle');
  const { entries } = await store.read({ from: '/o/PriorityClass/', to: '/o/PriorityClass0' });
  const object = JSON.parse(Buffer.from(entries[0]?.value ?? '{}').toString()) as BerthObject;
  return { object, counts, trace: trace.join('\n') };
}

describe('three servers over one store and a faulty network', () => {
  it('lose and double no change, and each shows every version once and in order, in 10 seeds', async () => {
    const total = servers * clientsPerServer * rounds;
    for (let seed = 0; seed < 10; seed++) {
      const { object, counts } = await simulate(seed);
      expect(object.metadata.annotations?.['count'], `seed ${seed}`).toBe(String(total));
      for (const seen of counts) {
        const numbers = seen.map(Number);
        expect(numbers.at(-1), `seed ${seed}`).toBe(total);
        expect(numbers, `seed ${seed}: [S11]`).toEqual(numbers.map((_, index) => (numbers[0] ?? 0) + index));
      }
    }
  }, 60_000);

  it('have one history for one seed', async () => {
    const first = await simulate(3);
    expect((await simulate(3)).trace).toBe(first.trace);
  });
});
