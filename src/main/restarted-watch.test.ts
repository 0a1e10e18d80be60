import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type EtcdCluster, startEtcd } from '../../testing/etcd-server.js';
import { scratchDirectory } from '../../testing/scratch.js';
import { realEnv } from '../env/real.js';
import { Versions } from '../model/versions.js';
import { asRevision, type Store } from '../store/contract.js';
import { EtcdStore } from '../store/etcd.js';
import { LmdbStore } from '../store/lmdb.js';
import { type BerthProcess, startBerth } from './process.fixture.js';
import { testClient, type TestClient } from './test-client.fixture.js';

const env = realEnv();
const versions = new Versions(0);
const classes = '/apis/berth.dev/v1/priorityclasses';
const workloads = '/apis/berth.dev/v1/namespaces/default/workloads';
const replicas = '/apis/berth.dev/v1/namespaces/default/replicas';
const headers = { 'content-type': 'application/json' };

interface Line {
  readonly type: string;
  readonly object: {
    readonly code?: number;
    readonly metadata: { readonly name: string; readonly resourceVersion: string };
  };
}
interface List {
  readonly metadata: { readonly resourceVersion: string };
  readonly items: readonly unknown[];
}

interface Backend {
  readonly name: string;
  prepare(): Promise<void>;
  /** As `--store` takes it. */
  address(path: string): string;
  /** The same store, while no server has it or beside one. */
  open(path: string): Promise<Store>;
  dispose(): Promise<void>;
}

let etcd: EtcdCluster | undefined;
const urls = (): readonly string[] => etcd?.urls ?? [];
const backends: readonly Backend[] = [
  {
    name: 'lmdb',
    prepare: () => Promise.resolve(),
    address: (path) => `lmdb:${join(path, 'store')}`,
    open: (path) => LmdbStore.open({ dir: join(path, 'store'), env }),
    dispose: () => Promise.resolve(),
  },
  {
    name: 'etcd',
    prepare: async () => {
      etcd = await startEtcd();
    },
    address: () => `etcd:${urls().join(',')}`,
    open: () => Promise.resolve(new EtcdStore({ endpoints: urls(), env })),
    dispose: async () => etcd?.stop(),
  },
];

describe.each(backends)('a server on $name that was killed and is started again', (backend) => {
  let scratch: ReturnType<typeof scratchDirectory>;
  let server: BerthProcess;
  let client: TestClient;
  const start = async (): Promise<void> => {
    const store = ['--store', backend.address(scratch.path), '--dir', join(scratch.path, 'dir')];
    server = await startBerth(['server', ...store, '--listen', '127.0.0.1:0']);
    client = testClient(server.kubeconfig);
  };
  const kill = async (): Promise<void> => {
    client.close();
    server.child.kill('SIGKILL');
    await server.ended;
  };
  beforeEach(async () => {
    await backend.prepare();
    scratch = scratchDirectory('restarted-watch');
    await start();
  });
  afterEach(async () => {
    await kill();
    await backend.dispose();
    scratch.remove();
  });

  const list = async (path: string): Promise<List> =>
    JSON.parse((await client.send('GET', path)).text) as List;
  /** The lines of a watch that lasts a second. */
  const linesAfter = async (path: string, version: string | number): Promise<Line[]> => {
    const { text } = await client.send(
      'GET',
      `${path}?watch=true&resourceVersion=${version}&timeoutSeconds=1`,
    );
    const lines = text.split('\n').filter((line) => line !== '');
    return lines.map((line) => JSON.parse(line) as Line);
  };

  /** Has replicas made, many of them in one transaction; what a watch that began before told. */
  async function groupOfReplicas(): Promise<{ readonly listed: string; readonly told: readonly Line[] }> {
    const listed = (await list(replicas)).metadata.resourceVersion;
    const template = { run: { process: { command: ['sleep', '1'] } } };
    const spec = { type: 'Service', replicas: 12, template };
    const body = JSON.stringify({ metadata: { name: 'web' }, spec });
    expect((await client.send('POST', workloads, { headers, body })).status).toBe(201);
    await expect.poll(async () => (await list(replicas)).items.length).toBe(12);
    const told = await linesAfter(replicas, listed);
    const inOne = told.filter(({ object }) => versionOf(object) === versionOf(told[0]?.object));
    expect(inOne.length, 'several replicas of one transaction').toBeGreaterThan(3);
    return { listed, told };
  }

  it('[S11] lets each watch from before go on, at the version of a list or of any object, and tells it what it missed', async () => {
    const { listed, told } = await groupOfReplicas();
    await kill();
    // As another server may have done it meanwhile.
    const store = await backend.open(scratch.path);
    const outcome = await store.transact({
      guards: [],
      writes: ['a', 'b', 'c'].map((name) => ({
        kind: 'put',
        key: `/o/PriorityClass/_/${name}`,
        value: Buffer.from(
          JSON.stringify({
            apiVersion: 'berth.dev/v1',
            kind: 'PriorityClass',
            metadata: { name, uid: name, generation: 1, creationTimestamp: '2026-01-01T00:00:00Z' },
            spec: { value: 1 },
          }),
        ),
      })),
    });
    expect(outcome.kind).toBe('Committed');
    await store.close();
    await start();
    const known = [Number(listed), ...new Set(told.map(({ object }) => versionOf(object)))];
    await Promise.all(
      known.map(async (version) => {
        const expected = told.filter(({ object }) => versionOf(object) >= version);
        const lines = await linesAfter(replicas, version);
        expect(lines.slice(0, expected.length), `resumed at ${version}`).toEqual(expected);
      }),
    );
    const made = (await linesAfter(classes, listed)).map(
      ({ type, object }) => `${type} ${object.metadata.name}`,
    );
    expect(made).toEqual(['ADDED a', 'ADDED b', 'ADDED c']);
    const now = (await list(classes)).metadata.resourceVersion;
    expect(await linesAfter(classes, now)).toEqual([]);
  });

  it('[S11] says 410 of versions that the store has forgotten, and never of the list that a client makes then', async () => {
    const { listed, told } = await groupOfReplicas();
    await kill();
    const store = await backend.open(scratch.path);
    const first = versionOf(told[0]?.object);
    await store.compact(asRevision(versions.revisionOf(first)));
    await store.close();
    await start();
    // The group of the first object is not kept, what came after it is.
    for (const version of [1, listed, first])
      expect(
        (await linesAfter(replicas, version)).map(({ type, object }) => `${type} ${object.code}`),
      ).toEqual(['ERROR 410']);
    const later = told.filter(({ object }) => versionOf(object) > first);
    const complete = versions.upTo(versions.revisionOf(first));
    expect((await linesAfter(replicas, complete)).slice(0, later.length)).toEqual(later);
    const now = await list(replicas);
    expect(now.items).toHaveLength(12);
    const lines = await linesAfter(replicas, now.metadata.resourceVersion);
    expect(lines.filter(({ type }) => type === 'ERROR')).toEqual([]);
  });
});

const versionOf = (object: Line['object'] | undefined): number => Number(object?.metadata.resourceVersion);
