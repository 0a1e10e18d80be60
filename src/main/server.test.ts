import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type EtcdCluster, startEtcd } from '../../testing/etcd-server.js';
import { type Ran, run } from '../../testing/run-process.js';
import { scratchDirectory } from '../../testing/scratch.js';
import { startProxy } from '../../testing/tcp-proxy.js';
import { type BerthProcess, program, startBerth } from './process.fixture.js';
import { type TestClient, testClient } from './test-client.fixture.js';

// A kind that no controller touches: whatever happens to its objects, this test did it.
const classes = '/apis/berth.dev/v1/priorityclasses';
const tokensPath = '/apis/authentication.berth.dev/v1/tokens';
const headers = { 'content-type': 'application/json' };
const priorityClass = (name: string): string => JSON.stringify({ metadata: { name }, spec: { value: 1 } });
interface Seen {
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
}

const berth = (...words: string[]): Promise<Ran> => run(process.execPath, [program, ...words]);

describe('two servers on one etcd', () => {
  let etcd: EtcdCluster;
  let scratch: ReturnType<typeof scratchDirectory>;
  let servers: BerthProcess[];
  let a: TestClient;
  let b: TestClient;
  const startOn = (dir: string, ...words: string[]): Promise<BerthProcess> =>
    startBerth([
      ...['server', '--store', `etcd:${etcd.urls.join(',')}`, '--dir', join(scratch.path, dir)],
      ...['--listen', '127.0.0.1:0', ...words],
    ]);
  beforeAll(async () => {
    etcd = await startEtcd();
  });
  afterAll(() => etcd.stop());
  beforeEach(async () => {
    scratch = scratchDirectory('server');
    servers = await Promise.all([startOn('a'), startOn('b')]);
    [a, b] = servers.map(({ kubeconfig }) => testClient(kubeconfig)) as [TestClient, TestClient];
  });
  afterEach(async () => {
    a.close();
    b.close();
    for (const { child } of servers) child.kill('SIGKILL');
    await Promise.all(servers.map(({ ended }) => ended));
    scratch.remove();
  });

  it('a read at one sees every write that the other has acknowledged, 500 times', async () => {
    for (let n = 0; n < 250; n++) {
      const name = `seen-${n}`;
      const [writer, reader] = n % 2 === 0 ? [a, b] : [b, a];
      expect((await writer.send('POST', classes, { headers, body: priorityClass(name) })).status).toBe(201);
      const isListed = n % 5 === 0;
      const read = await reader.send('GET', isListed ? classes : `${classes}/${name}`);
      expect(read.status, name).toBe(200);
      expect(read.text, name).toContain(`"${name}"`);
      expect((await writer.send('DELETE', `${classes}/${name}`)).status).toBe(200);
      expect((await reader.send('GET', `${classes}/${name}`)).status, `${name} is deleted`).toBe(404);
      // A write is decided on what the other has acknowledged, too.
      if (n % 10 !== 0) continue;
      expect((await reader.send('POST', classes, { headers, body: priorityClass(name) })).status).toBe(201);
      expect((await writer.send('DELETE', `${classes}/${name}`)).status).toBe(200);
    }
  }, 120_000);

  it('a read sees the writes of the other also where the store is far away, and one of version 0 does not wait', async () => {
    const proxy = await startProxy(Number(new URL(etcd.urls[0] ?? '').port));
    const far = await startBerth([
      ...['server', '--store', `etcd:http://127.0.0.1:${proxy.port}`, '--dir', join(scratch.path, 'far')],
      ...['--listen', '127.0.0.1:0'],
    ]);
    servers.push(far);
    const client = testClient(far.kubeconfig);
    for (let n = 0; n < 10; n++) {
      const name = `far-${n}`;
      // What the store tells this server comes late, its watch too.
      proxy.holdReplies();
      await a.send('POST', classes, { headers, body: priorityClass(name) });
      expect((await client.send('GET', `${classes}/${name}?resourceVersion=0`)).status, name).toBe(404);
      const read = client.send('GET', `${classes}/${name}`);
      proxy.releaseReplies();
      expect((await read).status, name).toBe(200);
      proxy.holdReplies();
      await a.send('DELETE', `${classes}/${name}`);
      expect((await client.send('GET', `${classes}/${name}?resourceVersion=0`)).status, name).toBe(200);
      const write = client.send('POST', classes, { headers, body: priorityClass(name) });
      proxy.releaseReplies();
      expect((await write).status, name).toBe(201);
    }
    client.close();
    far.child.kill('SIGKILL');
    await far.ended;
    await proxy.close();
  }, 60_000);

  it('a token is known to both, also a change of the store that the cache never sees, and revoked for both', async () => {
    const made = await a.send('POST', tokensPath, {
      headers,
      body: JSON.stringify({ spec: { identity: 'tenant:default:viewer' } }),
    });
    const token = JSON.parse(made.text) as { metadata: { name: string }; status: { token: string } };
    const bearer = { authorization: `Bearer ${token.status.token}` };
    expect((await b.sendAnonymously('GET', classes, bearer)).status).toBe(200);
    expect((await b.send('DELETE', `${tokensPath}/${token.metadata.name}`)).status).toBe(200);
    expect((await a.sendAnonymously('GET', classes, bearer)).status).toBe(401);
    expect((await b.sendAnonymously('GET', classes, bearer)).status).toBe(401);
  });

  it('[S11] a watch at one sees the writes through the other, each once and in order', async () => {
    const list = JSON.parse((await b.send('GET', classes)).text) as { metadata: Seen['metadata'] };
    const version = list.metadata.resourceVersion;
    const watching = b.send('GET', `${classes}?watch=true&resourceVersion=${version}&timeoutSeconds=4`);
    const expected: string[] = [];
    for (let n = 0; n < 60; n++) {
      const name = `watched-${n}`;
      await (n % 3 === 0 ? b : a).send('POST', classes, { headers, body: priorityClass(name) });
      expected.push(`ADDED ${name}`);
      if (n % 4 !== 0) continue;
      await a.send('DELETE', `${classes}/${name}`);
      expected.push(`DELETED ${name}`);
    }
    const events = (await watching).text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string; object: Seen });
    expect(events.map(({ type, object }) => `${type} ${object.metadata.name}`)).toEqual(expected);
    const versions = events.map(({ object }) => Number(object.metadata.resourceVersion));
    expect(versions).toEqual(versions.toSorted((x, y) => x - y));
  }, 60_000);

  it('one goes on when the other is killed, which finds everything when it is back; both trust the same CA', async () => {
    const [first, second] = servers as [BerthProcess, BerthProcess];
    first.child.kill('SIGKILL');
    await first.ended;
    for (let n = 0; n < 20; n++) {
      expect((await b.send('POST', classes, { headers, body: priorityClass(`after-${n}`) })).status).toBe(
        201,
      );
    }
    const again = await startOn('a');
    servers = [again, second];
    const client = testClient(again.kubeconfig);
    expect((await client.send('GET', `${classes}/after-19`)).status).toBe(200);
    client.close();
    // The administrator that one server made is known to the other.
    const crossed = testClient(second.kubeconfig, again.url);
    expect((await crossed.send('GET', `${classes}/after-19`)).status).toBe(200);
    crossed.close();
    for (const { child } of servers) child.kill('SIGTERM');
    expect(await Promise.all(servers.map(({ ended }) => ended))).toEqual([0, 0]);
  }, 60_000);

  it('refuse a directory that another server uses', async () => {
    const store = `etcd:${etcd.urls[0]}`;
    const third = await berth('server', '--store', store, '--dir', join(scratch.path, 'a'));
    expect(third.status).toBe(1);
    expect(third.stderr).toMatch(/^error: .* in use by process \d+; one process per directory\n$/);
  });
});

describe('a server on an etcd that asks for certificates', () => {
  it('shows its own, and says in one line when it has none', async () => {
    const etcd = await startEtcd({ tls: true });
    const scratch = scratchDirectory('server-tls');
    const words = [
      'server',
      '--store',
      `etcd:${etcd.urls[0]}`,
      '--dir',
      scratch.path,
      '--listen',
      '127.0.0.1:0',
    ];
    const { caFile, certFile, keyFile } = etcd.certificates ?? { caFile: '', certFile: '', keyFile: '' };
    const tls = ['--store-ca', caFile, '--store-cert', certFile, '--store-key', keyFile];
    const started = await startBerth([...words, ...tls]);
    const client = testClient(started.kubeconfig);
    expect((await client.send('POST', classes, { headers, body: priorityClass('secure') })).status).toBe(201);
    client.close();
    started.child.kill('SIGTERM');
    expect(await started.ended).toBe(0);
    const refused = await berth(...words);
    expect(refused).toMatchObject({ status: 1, stdout: '' });
    expect(refused.stderr).toMatch(/^error: no etcd member answers: https:.*$/m);
    expect(refused.stderr).not.toContain('    at ');
    await etcd.stop();
    scratch.remove();
  });
});

describe('berth server', () => {
  let scratch: ReturnType<typeof scratchDirectory>;
  let started: BerthProcess | undefined;
  beforeEach(() => {
    scratch = scratchDirectory('server');
  });
  afterEach(async () => {
    started?.child.kill('SIGKILL');
    await started?.ended;
    scratch.remove();
  });

  it('runs on an embedded store, on the address it is given, under every name it is given', async () => {
    const dir = join(scratch.path, 'data');
    const words = ['--store', `lmdb:${dir}`, '--dir', dir, '--listen', '127.0.0.2:0', '--host', 'berth.test'];
    started = await startBerth(['server', ...words]);
    expect(started.url).toMatch(/^https:\/\/127\.0\.0\.2:\d+$/);
    const client = testClient(started.kubeconfig);
    expect((await client.send('GET', classes)).status).toBe(200);
    client.close();
    const port = Number(new URL(started.url).port);
    const { clusters } = parse(readFileSync(started.kubeconfig, 'utf8')) as {
      clusters: { cluster: { 'certificate-authority-data': string } }[];
    };
    const ca = Buffer.from(clusters[0]?.cluster['certificate-authority-data'] ?? '', 'base64');
    const connectAs = (servername: string): Promise<string> =>
      new Promise((resolve) => {
        const socket = connect({ host: '127.0.0.2', port, servername, ca }, () => {
          socket.destroy();
          resolve('trusted');
        });
        socket.once('error', ({ message }) => resolve(message));
      });
    expect(await connectAs('berth.test')).toBe('trusted');
    expect(await connectAs('localhost')).toBe('trusted');
    expect(await connectAs('other.test')).toContain('other.test');
    started.child.kill('SIGTERM');
    expect(await started.ended).toBe(0);
  });

  it.each([
    { words: [], status: 64, says: "required option '--store <address>' not specified" },
    { words: ['--store', 'sqlite:x'], status: 64, says: '"sqlite:x" is not a store: write lmdb:DIR' },
    {
      words: ['--store', 'lmdb:x', '--listen', 'here'],
      status: 64,
      says: '"here" is not where a server can listen',
    },
    {
      words: ['--store', 'etcd:http://127.0.0.1:1'],
      status: 1,
      says: 'no etcd member answers: http://127.0.0.1:1',
    },
    { words: ['--store', 'etcd:http://127.0.0.1:1', '--store-ca', 'none.pem'], status: 1, says: 'none.pem' },
    {
      words: ['--store', 'etcd:http://127.0.0.1:1', '--store-ca', 'package.json'],
      status: 64,
      says: 'http://127.0.0.1:1 does without: write https://',
    },
  ])('answers $words with one clear line', async ({ words, status, says }) => {
    const ran = await berth('server', ...words, '--dir', join(scratch.path, 'data'));
    expect(ran.stderr).toContain(says);
    expect(ran).toMatchObject({ status, stdout: '' });
    expect(ran.stderr).not.toContain('    at ');
  });

  it('says in one line which host cannot be in a certificate', async () => {
    const store = `lmdb:${join(scratch.path, 'store')}`;
    const ran = await berth('server', '--store', store, '--dir', scratch.path, '--host', 'a b');
    expect(ran).toMatchObject({
      status: 64,
      stderr: 'error: "a b" is neither an address nor a DNS name\n',
    });
  });
});
