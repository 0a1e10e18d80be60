import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Ran, run } from '../../testing/run-process.js';
import { scratchDirectory } from '../../testing/scratch.js';
import { addNode, done, lead, openAuthority, proposal } from '../commit/open-authority.fixture.js';
import { realEnv } from '../env/real.js';
import type { NodeAccount, SlotRecord } from '../model/records.js';
import type { Replica } from '../model/kinds/replica.js';
import { LmdbStore } from '../store/lmdb.js';
import { type BerthProcess, program, startBerth } from './process.fixture.js';
import { testClient } from './test-client.fixture.js';

const env = realEnv();
const workloads = '/apis/berth.dev/v1/namespaces/default/workloads';

/** Does something to the store of a server that is not running. */
async function offline<T>(dir: string, act: (store: LmdbStore) => Promise<T>): Promise<T> {
  const store = await LmdbStore.open({ dir: join(dir, 'store'), env });
  try {
    return await act(store);
  } finally {
    await store.close();
  }
}

async function change<T>(store: LmdbStore, key: string, by: (value: T) => T): Promise<void> {
  const [entry] = (await store.read({ from: key, to: `${key}\0` })).entries;
  if (entry === undefined) throw new Error(`there is no ${key}`);
  const value = Buffer.from(JSON.stringify(by(JSON.parse(Buffer.from(entry.value).toString()) as T)));
  const outcome = await store.transact({ guards: [], writes: [{ kind: 'put', key, value }] });
  expect(outcome.kind).toBe('Committed');
}

describe('berth audit', () => {
  let scratch: ReturnType<typeof scratchDirectory>;
  let server: BerthProcess | undefined;
  beforeAll(() => {
    scratch = scratchDirectory('audit');
  });
  afterAll(async () => {
    server?.child.kill('SIGKILL');
    await server?.ended;
    scratch.remove();
  });
  const start = async (dir: string): Promise<BerthProcess> =>
    (server = await startBerth(['up', '--dir', dir, '--port', '0', '--no-agent']));
  const stop = async (): Promise<void> => {
    server?.child.kill('SIGTERM');
    expect(await server?.ended).toBe(0);
  };
  const audit = (...words: string[]): Promise<Ran> =>
    run(process.execPath, [program, 'audit', ...words, '--config', server?.kubeconfig ?? '']);

  it('finds nothing wrong in a cell that works, and in a damaged one names every key and ends with 4', async () => {
    const dir = join(scratch.path, 'good');
    await start(dir);
    const client = testClient(server?.kubeconfig ?? '');
    const body = JSON.stringify({
      metadata: { name: 'score' },
      spec: {
        type: 'Service',
        replicas: 2,
        template: {
          run: { process: { command: ['x'] } },
          resources: { cpu: '1', devices: { gpu: 1 }, ports: ['http'] },
        },
      },
    });
    const headers = { 'content-type': 'application/json' };
    expect((await client.send('POST', workloads, { headers, body })).status).toBe(201);
    const queued = async (): Promise<number> =>
      (await client.send('GET', '/apis/berth.dev/v1/replicas')).text.split('"stage":"Queued"').length - 1;
    await expect.poll(queued).toBe(2);
    client.close();
    expect(await audit()).toMatchObject({ status: 0, stdout: '' });
    await stop();

    // Nothing places replicas yet: this does, as a scheduler would.
    await offline(dir, async (store) => {
      const opened = await openAuthority(store, env);
      const epoch = await addNode(opened.authority, 'n1', { devices: { gpu: ['g0', 'g1'] } });
      const scheduler = await lead(opened.authority, 'scheduler');
      const replicas = [...opened.cache.list('Replica')].map(({ object }) => object as unknown as Replica);
      for (const outcome of await opened.authority.bind(
        replicas.map((replica) => proposal(scheduler, replica, 'n1', epoch)),
      ))
        done(outcome);
      await opened.cache.close();
    });
    const damaged = join(scratch.path, 'damaged');
    cpSync(dir, damaged, { recursive: true });

    await start(dir);
    const clean = await audit();
    expect(clean).toMatchObject({ status: 0, stdout: '' });
    expect(clean.stderr).toMatch(
      /^revision \d+: looked at 1 nodes, \d+ tenants, 1 workloads, 2 slots, 2 replicas, 0 holds: all is as it should be\n$/,
    );
    await stop();

    await offline(damaged, async (store) => {
      await change<NodeAccount>(store, '/a/node/n1', ({ claims, ...account }) => {
        const { g0: _, ...devices } = claims.devices;
        return { ...account, used: { ...account.used, cpuMilli: 5_000 }, claims: { ...claims, devices } };
      });
      await change<SlotRecord>(store, '/t/default/score/0', (slot) => ({ ...slot, replicaUid: 'elsewhere' }));
    });
    await start(damaged);
    const found = await audit();
    expect(found.status).toBe(4);
    const lines = found.stdout.trim().split('\n').toSorted();
    expect(lines).toEqual([
      expect.stringMatching(
        /^S1 \/a\/node\/n1, \/s\/Replica\/default\/score-\d-1: device g0 claimed by nobody; should be: device g0 claimed by \S+$/,
      ),
      expect.stringMatching(/^S12 \/t\/default\/score\/0, .*: score-0-1 \(Bound\) beside it; should be: /),
      expect.stringMatching(/^S12 \/t\/default\/score\/0: it names score-0-1 with uid elsewhere, /),
      expect.stringMatching(/^S7 \/a\/node\/n1: used {"cpu":"5".*; should be: used {"cpu":"2"/),
    ]);
    const json = await audit('-o', 'json');
    expect(json.status).toBe(4);
    expect((JSON.parse(json.stdout) as { differences: unknown[] }).differences).toHaveLength(4);
  }, 90_000);

  it('is for those who may see all tenants', async () => {
    const client = testClient(server?.kubeconfig ?? '');
    const headers = { 'content-type': 'application/json' };
    const statusFor = async (identity: string): Promise<number> => {
      const made = await client.send('POST', '/apis/authentication.berth.dev/v1/tokens', {
        headers,
        body: JSON.stringify({ spec: { identity } }),
      });
      const { token } = (JSON.parse(made.text) as { status: { token: string } }).status;
      const authorization = `Bearer ${token}`;
      const path = '/apis/authority.berth.dev/v1/audit';
      return (await client.sendAnonymously('GET', path, { authorization })).status;
    };
    expect(await statusFor('viewer')).toBe(200);
    expect(await statusFor('tenant:default:owner')).toBe(403);
    expect((await client.sendAnonymously('GET', '/apis/authority.berth.dev/v1/audit')).status).toBe(401);
    client.close();
  });
});
