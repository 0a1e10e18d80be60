import { expect, it } from 'vitest';
import { realEnv } from '../env/real.js';
import { MemoryStore } from '../store/memory.js';
import { openCell } from './cell.js';

const env = realEnv();
const stored = async (cell: object): Promise<MemoryStore> => {
  const store = new MemoryStore(env);
  const value = Buffer.from(JSON.stringify(cell));
  await store.transact({ guards: [], writes: [{ kind: 'put', key: '/m/cell', value }] });
  return store;
};
const readBack = async (store: MemoryStore): Promise<unknown> => {
  const [entry] = (await store.read({ from: '/m/cell', to: '/m/cell0' })).entries;
  return JSON.parse(Buffer.from(entry?.value ?? '').toString());
};

it('servers that open an empty store at once agree on one cell', async () => {
  const store = new MemoryStore(env);
  const [one, ...others] = await Promise.all([
    openCell(store, env),
    openCell(store, env),
    openCell(store, env),
  ]);
  for (const other of others) expect(other).toEqual(one);
});

it('a cell of an earlier release keeps uid and base, and is closed to that release from then on', async () => {
  const store = await stored({ format: 1, uid: 'u', base: 700 });
  const cells = await Promise.all([openCell(store, env), openCell(store, env)]);
  for (const cell of cells) expect(cell).toEqual({ format: 2, uid: 'u', base: 700 });
  expect(await readBack(store)).toEqual({ format: 2, uid: 'u', base: 700 });
});

it('a cell of another format is refused, and left as it is', async () => {
  const store = await stored({ format: 3, uid: 'u', base: 0 });
  await expect(openCell(store, env)).rejects.toMatchObject({
    code: 'StoreFormat',
    message: 'the cell has format 3; this version of berth reads formats 1 and 2',
  });
  expect(await readBack(store)).toMatchObject({ format: 3 });
});
