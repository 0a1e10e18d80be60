import { expect, it } from 'vitest';
import { realEnv } from '../env/real.js';
import { MemoryStore } from '../store/memory.js';
import { sharedAuthority } from './shared-authority.js';

it('is one CA for all servers of a cell, also for those that start at once', async () => {
  const env = realEnv();
  const store = new MemoryStore(env);
  const found = await Promise.all(Array.from({ length: 5 }, () => sharedAuthority(store, env)));
  expect(new Set(found.map(({ certificatePem }) => certificatePem)).size).toBe(1);
  expect(await sharedAuthority(store, env)).toEqual(found[0]);
  await store.close();
});
