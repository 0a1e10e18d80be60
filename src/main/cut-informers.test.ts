import { Agent } from 'node:https';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { makeCertificates } from '../../testing/certificates.js';
import { startCuttingProxy } from '../../testing/cutting-proxy.js';
import { type EtcdCluster, startEtcd } from '../../testing/etcd-server.js';
import { scratchDirectory } from '../../testing/scratch.js';
import { readKubeconfig } from '../client/kubeconfig.js';
import { realEnv } from '../env/real.js';
import type { Write } from '../store/contract.js';
import { EtcdStore } from '../store/etcd.js';
import {
  berthClients,
  berthCommands,
  clients,
  type Held,
  type Informers,
  path,
  type PriorityClass,
} from './cut-informers.fixture.js';
import { type BerthProcess, startBerth } from './process.fixture.js';
import { testClient, type TestClient } from './test-client.fixture.js';

const put = (name: string, value: number): Write => ({
  kind: 'put',
  key: `/o/PriorityClass/_/${name}`,
  value: Buffer.from(
    JSON.stringify({
      apiVersion: 'berth.dev/v1',
      kind: 'PriorityClass',
      metadata: {
        name,
        uid: `uid-${name}`,
        generation: 1,
        creationTimestamp: '2026-01-01T00:00:00Z',
      },
      spec: { value },
    }),
  ),
});
const drop = (name: string): Write => ({ kind: 'delete', key: `/o/PriorityClass/_/${name}` });

/** A transaction that makes five objects, changes three and deletes two. */
const changes: readonly Write[] = [
  ...['new-0', 'new-1', 'new-2', 'new-3', 'new-4'].map((name) => put(name, 2)),
  ...['old-0', 'old-1', 'old-2'].map((name) => put(name, 3)),
  ...['old-3', 'old-4'].map(drop),
];

/** Each event is cut at four places: in its middle, and one byte before, at and one byte after its end. */
const cutsOfEvent = 4;
const allCuts = Array.from({ length: changes.length * cutsOfEvent }, (_, index) => index);
function cutAfter(index: number, lines: readonly string[]): number | undefined {
  if (lines.length < changes.length) return undefined;
  const event = Math.floor(index / cutsOfEvent);
  const bytesOf = (line: string): number => Buffer.byteLength(line) + 1;
  const begin = lines.slice(0, event).reduce((bytes, line) => bytes + bytesOf(line), 0);
  const length = bytesOf(lines[event] ?? '');
  return begin + ([Math.floor(length / 2), length - 1, length, length + 1][index % cutsOfEvent] ?? 0);
}

const oldNames = ['old-0', 'old-1', 'old-2', 'old-3', 'old-4', 'old-5'];
/** The events of the first list and of the transaction, as type, name and value. */
const changesTold: readonly string[] = [
  'ADDED default 0',
  ...oldNames.map((name) => `ADDED ${name} 1`),
  ...['new-0', 'new-1', 'new-2', 'new-3', 'new-4'].map((name) => `ADDED ${name} 2`),
  ...['old-0', 'old-1', 'old-2'].map((name) => `MODIFIED ${name} 3`),
  ...['old-3', 'old-4'].map((name) => `DELETED ${name} 1`),
];
const deletionsTold: readonly string[] = [
  ...['DELETED new-0 2', 'DELETED new-1 2', 'DELETED old-0 3', 'DELETED old-5 1'],
];

describe('[S11] informers whose watches are cut in the middle of the changes of one transaction', () => {
  const scratch = scratchDirectory('cut-informers');
  const { pem } = makeCertificates(scratch.path);
  let etcd: EtcdCluster;
  let store: EtcdStore;
  let server: BerthProcess;
  let client: TestClient;
  let agent: Agent;
  beforeAll(async () => {
    etcd = await startEtcd();
    store = new EtcdStore({ endpoints: etcd.urls, env: realEnv() });
    server = await startBerth([
      ...['server', '--store', `etcd:${etcd.urls.join(',')}`, '--dir', scratch.path],
      ...['--listen', '127.0.0.1:0'],
    ]);
    client = testClient(server.kubeconfig);
    const { ca, cert, key } = await readKubeconfig({ path: server.kubeconfig });
    agent = new Agent({ ca, cert, key });
  });
  afterAll(async () => {
    client.close();
    agent.destroy();
    server.child.kill('SIGKILL');
    await server.ended;
    await store.close();
    await etcd.stop();
    scratch.remove();
  });

  const commit = async (writes: readonly Write[]): Promise<void> => {
    expect((await store.transact({ guards: [], writes })).kind).toBe('Committed');
  };
  const truth = async (): Promise<Held> => {
    const { items } = JSON.parse((await client.send('GET', path)).text) as { items: PriorityClass[] };
    return Object.fromEntries(items.map(({ metadata, spec }) => [metadata?.name ?? '', spec.value]));
  };
  beforeEach(async () => {
    const left = Object.keys(await truth()).filter((name) => name.startsWith('new-'));
    await commit(left.map(drop));
    await commit(oldNames.map((name) => put(name, 1)));
  });

  /** Cuts the first watch of each informer within the changes; looks at the informers after them, and after deletions. */
  async function whileCut<I extends Pick<Informers, 'stop'>>(
    cuts: readonly number[],
    start: (base: string) => I,
    look: (informers: I) => Promise<void>,
    tls?: { readonly cert: Buffer; readonly key: Buffer },
  ): Promise<void> {
    const proxy = await startCuttingProxy(
      { url: server.url, agent },
      (index, lines) => cutAfter(cuts[index] ?? 0, lines),
      tls,
    );
    const informers = start(proxy.url);
    try {
      await expect.poll(() => proxy.watches, { timeout: 60_000 }).toBe(cuts.length);
      await commit(changes);
      await expect.poll(() => proxy.cuts, { timeout: 60_000 }).toBe(cuts.length);
      await look(informers);
      expect(await truth()).toMatchObject({ 'new-4': 2, 'old-2': 3, 'old-5': 1 });
      await commit(['new-0', 'new-1', 'old-0', 'old-5'].map(drop));
      await look(informers);
    } finally {
      await informers.stop();
      await proxy.close();
    }
  }

  /** All hold what is there. */
  const expectTruth = async (informers: Informers): Promise<void> => {
    const there = await truth();
    const all = allCuts.map(() => there);
    await expect.poll(() => informers.held(), { timeout: 60_000 }).toEqual(all);
  };

  for (const { name, isThere, start } of clients)
    it.skipIf(!isThere)(
      `of ${name} hold what the server has, and no ghosts after deletions`,
      () => whileCut(allCuts, (base) => start(base, allCuts.length), expectTruth),
      180_000,
    );

  it("of Berth's own client do so too, and are told no change twice", async () => {
    const told: string[][] = allCuts.map(() => []);
    await whileCut(allCuts, (base) => berthClients(base, told, pem), expectTruth, pem);
    for (const [index, lines] of told.entries())
      expect(lines.toSorted(), `cut ${index}`).toEqual([...changesTold, ...deletionsTold].toSorted());
  }, 180_000);

  it('of `berth get -w` print each change once', async () => {
    const cuts = allCuts.filter((index) => index % 9 === 0);
    const printed: string[][] = cuts.map(() => []);
    const expected = [changesTold, [...changesTold, ...deletionsTold]].map((lines) =>
      lines.map((line) => `priorityclass/${line.split(' ')[1]}`).toSorted(),
    );
    const look = async (): Promise<void> => {
      const next = expected.shift();
      const all = cuts.map(() => next);
      await expect.poll(() => printed.map((lines) => lines.toSorted()), { timeout: 60_000 }).toEqual(all);
    };
    await whileCut(cuts, (base) => berthCommands(base, printed, { dir: scratch.path, ...pem }), look, pem);
  }, 180_000);
});
