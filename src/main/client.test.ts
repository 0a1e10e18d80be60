import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startProxy, type TcpProxy } from '../../testing/tcp-proxy.js';
import {
  BerthClient,
  type BerthObject,
  type FollowEvent,
  readKubeconfig,
  type ServerAccess,
} from '../client/client.js';
import { SeededRandom } from '../env/random.js';
import { realEnv } from '../env/real.js';
import { startServer, type TestServer } from './running.fixture.js';

// A kind that no controller touches: whatever happens to its objects, this test did it.
const classes = { group: 'berth.dev', version: 'v1', plural: 'priorityclasses' };
const priorityClass = (name: string, value = 1) => ({
  apiVersion: 'berth.dev/v1',
  kind: 'PriorityClass',
  metadata: { name },
  spec: { value },
});
const builtIn = 'default';
const env = realEnv();

describe('a client of a real server', () => {
  let server: TestServer;
  let served: ServerAccess;
  let proxy: TcpProxy;
  let direct: BerthClient;
  const clients: BerthClient[] = [];
  const clientAt = (port: number, options: { timeoutMs?: number } = {}): BerthClient => {
    const access = { ...served, url: `https://127.0.0.1:${port}` };
    const client = new BerthClient({
      access,
      ...options,
      retries: { backoffMsMin: 5, backoffMsMax: 50, attemptsMax: 8 },
    });
    clients.push(client);
    return client;
  };

  beforeAll(async () => {
    server = await startServer();
    served = await readKubeconfig({ path: server.kubeconfig });
    proxy = await startProxy(Number(new URL(server.url).port));
    direct = clientAt(Number(new URL(server.url).port));
  });
  afterAll(async () => {
    for (const client of clients) client.close();
    await proxy.close();
    await server.dispose();
  });

  it('creates, reads, replaces, patches in three ways, and deletes', async () => {
    const made = await direct.create(classes, priorityClass('verbs'));
    expect(await direct.get(classes, 'verbs')).toEqual(made);
    const replaced = await direct.update(classes, 'verbs', { ...made, spec: priorityClass('verbs', 2).spec });
    expect(replaced.spec).toMatchObject({ value: 2 });
    await expect(direct.update(classes, 'verbs', { ...made })).rejects.toMatchObject({ code: 'Conflict' });
    const merged = await direct.patch(classes, 'verbs', { type: 'merge', body: { spec: { value: 3 } } });
    expect(merged.spec).toMatchObject({ value: 3 });
    const body = [{ op: 'replace', path: '/spec/value', value: 4 }];
    const patched = await direct.patch(classes, 'verbs', { type: 'json', body });
    expect(patched.spec).toMatchObject({ value: 4 });
    const apply = { type: 'apply', body: priorityClass('verbs', 5), fieldManager: 'tester' } as const;
    await expect(direct.patch(classes, 'verbs', apply)).rejects.toMatchObject({ code: 'Conflict' });
    const applied = await direct.patch(classes, 'verbs', { ...apply, force: true });
    expect(applied.spec).toMatchObject({ value: 5 });
    expect(await direct.delete(classes, 'verbs')).toEqual({ isGone: true });
    await expect(direct.get(classes, 'verbs')).rejects.toMatchObject({ code: 'NotFound' });
  });

  it('tells of every wrong field, with the code Invalid', async () => {
    const wrong = { ...priorityClass('wrong'), spec: { ...priorityClass('wrong').spec, value: 1.5 } };
    await expect(direct.create(classes, wrong)).rejects.toMatchObject({
      code: 'Invalid',
      details: { causes: [{ field: 'spec.value' }] },
    });
  });

  it('lists all pages as one list at one version', async () => {
    const names = Array.from({ length: 23 }, (_, index) => `page-${String(index).padStart(2, '0')}`);
    for (const name of names) await direct.create(classes, priorityClass(name));
    const { items, version } = await direct.list(classes, { pageSize: 5 });
    expect(items.map(({ metadata }) => metadata.name)).toEqual([builtIn, ...names]);
    expect(version).toBeGreaterThanOrEqual(Number(items.at(-1)?.metadata.resourceVersion));
    for (const name of names) await direct.delete(classes, name);
  });

  it('says UnknownOutcome when the answer to a write is swallowed, and does not send it again', async () => {
    const client = clientAt(proxy.port, { timeoutMs: 500 });
    await client.list(classes);
    proxy.mode = 'swallowReplies';
    // Sent twice, this would make two objects.
    const unnamed = { ...priorityClass(''), metadata: { generateName: 'swallowed-' } };
    await expect(client.create(classes, unnamed)).rejects.toMatchObject({ code: 'UnknownOutcome' });
    proxy.mode = 'pass';
    proxy.cut();
    const items = (await client.list(classes)).items.filter(({ metadata }) => metadata.name !== builtIn);
    expect(items.map(({ metadata }) => metadata.generateName)).toEqual(['swallowed-']);
    for (const { metadata } of items) await direct.delete(classes, metadata.name);
  });

  it('says UnknownOutcome when the connection is cut after a write was sent', async () => {
    const client = clientAt(proxy.port);
    await client.list(classes);
    proxy.mode = 'swallowReplies';
    const writing = client.create(classes, priorityClass('cut'));
    await expect
      .poll(() =>
        direct.get(classes, 'cut').then(
          () => true,
          () => false,
        ),
      )
      .toBe(true);
    proxy.cut();
    proxy.mode = 'pass';
    await expect(writing).rejects.toMatchObject({ code: 'UnknownOutcome' });
    await direct.delete(classes, 'cut');
  });

  it('says ServerUnreachable when there was no connection, for a write too', async () => {
    const unused = await startProxy(1);
    await unused.close();
    await new Promise((resolve) => connect(unused.port, '127.0.0.1').once('error', resolve));
    const client = clientAt(unused.port);
    await expect(client.create(classes, priorityClass('nowhere'))).rejects.toMatchObject({
      code: 'ServerUnreachable',
    });
    await expect(client.list(classes)).rejects.toMatchObject({
      code: 'ServerUnreachable',
      details: { because: 'attempts' },
    });
  });

  it('says CertificateUnusable, at once, of a server that it has no reason to trust', async () => {
    const access = { ...(await readKubeconfig({ path: server.kubeconfig })), url: server.url, ca: undefined };
    const client = new BerthClient({ access });
    await expect(client.list(classes)).rejects.toMatchObject({ code: 'CertificateUnusable' });
    client.close();
  });

  it('does not wait for ever for a watch that is not answered', async () => {
    const client = clientAt(proxy.port, { timeoutMs: 200 });
    proxy.mode = 'blackhole';
    await expect(client.watch(classes, { after: 1 }).next()).rejects.toMatchObject({
      code: 'ServerUnreachable',
    });
    proxy.mode = 'pass';
    proxy.cut();
  });

  it('says Expired of a watch after a version that the server no longer remembers', async () => {
    await expect(direct.watch(classes, { after: 1 }).next()).rejects.toMatchObject({ code: 'Expired' });
  });

  it('gives up a read with the reason of the signal', async () => {
    proxy.mode = 'blackhole';
    const reason = new Error('enough');
    const gone = new AbortController();
    const reading = clientAt(proxy.port).list(classes, { signal: gone.signal });
    gone.abort(reason);
    await expect(reading).rejects.toBe(reason);
    proxy.mode = 'pass';
    proxy.cut();
  });

  it('ends with the state of the server after 200 changes over a connection that is cut again and again, with no change lost or told twice', async () => {
    const client = clientAt(proxy.port);
    const random = new SeededRandom('client');
    for (let index = 0; index < 5; index++) await direct.create(classes, priorityClass(`before-${index}`));

    const stop = new AbortController();
    const held = new Map<string, BerthObject>();
    const told: FollowEvent[] = [];
    let failures = 0;
    let isSynced = false;
    const following = (async () => {
      const options = { signal: stop.signal, pageSize: 2, onFailure: () => (failures += 1) };
      for await (const event of client.listThenWatch(classes, options)) {
        told.push(event);
        if (event.type === 'SYNCED') isSynced = true;
        else if (event.type === 'DELETED') held.delete(event.object.metadata.name);
        else held.set(event.object.metadata.name, event.object);
      }
    })();
    await expect.poll(() => isSynced).toBe(true);

    const live = new Set(Array.from({ length: 5 }, (_, index) => `before-${index}`));
    const writtenVersions: string[] = [];
    for (let change = 0; change < 200; change++) {
      const name =
        random.chance(0.4) && live.size > 0 ? random.pick([...live]) : `made-${random.integer(20)}`;
      if (!live.has(name)) {
        const made = await direct.create(classes, priorityClass(name));
        writtenVersions.push(made.metadata.resourceVersion);
        live.add(name);
      } else if (random.chance(0.3)) {
        await direct.delete(classes, name);
        live.delete(name);
      } else {
        const spec = { value: 1 + change };
        const patched = await direct.patch(classes, name, { type: 'merge', body: { spec } });
        writtenVersions.push(patched.metadata.resourceVersion);
      }
      if (random.chance(0.2)) proxy.cut();
      if (random.chance(0.1)) await env.sleep(20);
    }

    const state = (objects: Iterable<BerthObject>): string[] =>
      [...objects].map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`).toSorted();
    const { items } = await direct.list(classes);
    await expect.poll(() => state(held.values())).toEqual(state(items));
    stop.abort();
    await following;
    expect(failures).toBeGreaterThan(5);
    expect(told.filter(({ type }) => type === 'SYNCED')).toHaveLength(1);
    // Nothing expired, so every single version arrived, once.
    const arrived = told.flatMap((event) =>
      event.type === 'ADDED' || event.type === 'MODIFIED' ? [event.object.metadata.resourceVersion] : [],
    );
    expect(arrived.slice(6)).toEqual(writtenVersions);
    expect(server.defects).toEqual([]);
  }, 60_000);

  it('stops following when the loop is left', async () => {
    for await (const event of direct.listThenWatch(classes)) {
      if (event.type === 'SYNCED') break;
    }
    await expect(
      (async () => {
        for await (const _ of direct.listThenWatch({ ...classes, plural: 'priorityclass' })) continue;
      })(),
      'what can never succeed is not tried for ever',
    ).rejects.toMatchObject({ code: 'NotFound' });
  });
});
