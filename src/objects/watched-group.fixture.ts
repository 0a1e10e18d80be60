import type { Env } from '../env/env.js';
import type { BerthObject } from '../model/object.js';
import type { Write } from '../store/contract.js';
import { MemoryStore } from '../store/memory.js';
import { takeApart } from './assemble.js';
import { draft, kindOf, openObjects, workload } from './open-objects.fixture.js';

const Workload = kindOf('Workload');

/**
 * Ten workloads; then one transaction that creates six, changes the label of four and deletes four, with one more change
 * before and after it.
 */
export async function openWithGroup(env: Env) {
  const store = new MemoryStore(env);
  const { objects, cache, lister } = await openObjects(store, env);
  await objects.create(kindOf('Tenant'), undefined, draft('Tenant', 'default', {}));
  const create = (name: string, colour: string): Promise<unknown> =>
    objects.create(Workload, 'default', workload(name, {}, { labels: { colour } }));
  // The last one in order of names is the first that was created, and the other way round.
  for (let number = 9; number >= 0; number--) await create(`w${number}`, number % 2 === 0 ? 'blue' : 'red');
  const first = await lister.list(Workload);
  await create('x0', 'blue');
  const put = (object: BerthObject, name: string, colour: string): Write => {
    const { stored } = takeApart(object);
    const metadata = { ...stored.metadata, name, uid: `uid-${name}`, labels: { colour } };
    return {
      kind: 'put',
      key: `/o/Workload/default/${name}`,
      value: Buffer.from(JSON.stringify({ ...stored, metadata })),
    };
  };
  const some = objects.get(Workload, { kind: 'Workload', namespace: 'default', name: 'w0' });
  const outcome = await store.transact({
    guards: [],
    writes: [
      ...['g0', 'g1', 'g2', 'g3', 'g4', 'g5'].map((name, at) => put(some, name, at < 4 ? 'blue' : 'red')),
      ...['w0', 'w1', 'w2', 'w3'].map((name, at) => put(some, name, at % 2 === 0 ? 'red' : 'blue')),
      ...['w4', 'w5', 'w6', 'w7'].map((name): Write => ({
        kind: 'delete',
        key: `/o/Workload/default/${name}`,
      })),
    ],
  });
  if (outcome.kind !== 'Committed') throw new Error(outcome.kind);
  await cache.notOlderThan(outcome.revision);
  await create('x1', 'blue');
  const last = await lister.list(Workload);
  return { cache, first, last };
}
