import { setTimeout as sleep } from 'node:timers/promises';
import { constants, createServer } from 'node:http2';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EtcdCluster, startEtcd } from '../../testing/etcd-server.js';
import { freePort } from '../../testing/free-port.js';
import { startProxy } from '../../testing/tcp-proxy.js';
import { realEnv } from '../env/real.js';
import { isBerthError } from '../model/errors.js';
import { asRevision, type Entry, type Store, type Transaction } from './contract.js';
import { EtcdStore } from './etcd.js';
import { everyKey, singleKey } from './key-range.js';

const text = (entry: Entry | undefined): string => Buffer.from(entry?.value ?? '').toString();
const valueOf = async (store: Store, key: string): Promise<string> =>
  text((await store.read(singleKey(key))).entries[0]);
const putting = (key: string, value: string): Transaction => ({
  guards: [],
  writes: [{ kind: 'put', key, value: Buffer.from(value) }],
});

describe('the etcd store and a network that loses things', () => {
  let cluster: EtcdCluster;
  let direct: EtcdStore;
  const port = (): number => Number(new URL(cluster.urls[0] ?? '').port);
  beforeAll(async () => {
    cluster = await startEtcd();
    direct = new EtcdStore({ endpoints: cluster.urls, env: realEnv() });
  });
  afterAll(async () => {
    await direct.close();
    await cluster.stop();
  });

  it('says UnknownOutcome when the answer is lost, and the transaction has landed exactly once', async () => {
    const proxy = await startProxy(port());
    const store = new EtcdStore({
      endpoints: [`http://127.0.0.1:${proxy.port}`],
      env: realEnv(),
      requestTimeoutMs: 700,
    });
    await store.transact(putting('/lost', 'before'));
    const before = (await direct.read(everyKey)).revision;
    proxy.mode = 'swallowReplies';
    const outcome = await store.transact(putting('/lost', 'after'));
    expect(outcome.kind).toBe('UnknownOutcome');
    expect(await valueOf(direct, '/lost')).toBe('after');
    proxy.mode = 'pass';
    await sleep(1500);
    expect((await direct.read(everyKey)).revision, 'nothing was sent again').toBe(before + 1);
    await store.close();
    await proxy.close();
  });

  it('says UnknownOutcome when the request is lost, and nothing has landed', async () => {
    const proxy = await startProxy(port());
    const store = new EtcdStore({
      endpoints: [`http://127.0.0.1:${proxy.port}`],
      env: realEnv(),
      requestTimeoutMs: 700,
    });
    await store.transact(putting('/never', 'before'));
    proxy.mode = 'blackhole';
    expect((await store.transact(putting('/never', 'after'))).kind).toBe('UnknownOutcome');
    proxy.cut();
    proxy.mode = 'pass';
    await sleep(1500);
    expect(await valueOf(direct, '/never'), 'nothing was sent again').toBe('before');
    await store.close();
    await proxy.close();
  });

  it('says UnknownOutcome when the connection breaks under a transaction', async () => {
    const proxy = await startProxy(port());
    const store = new EtcdStore({ endpoints: [`http://127.0.0.1:${proxy.port}`], env: realEnv() });
    await store.transact(putting('/cut', 'before'));
    proxy.mode = 'swallowReplies';
    const outcome = store.transact(putting('/cut', 'after'));
    await sleep(200);
    proxy.cut();
    expect((await outcome).kind).toBe('UnknownOutcome');
    expect(await valueOf(direct, '/cut')).toBe('after');
    await store.close();
    await proxy.close();
  });

  it('fails for certain when no member can be reached: nothing was sent', async () => {
    const store = new EtcdStore({
      endpoints: [`http://127.0.0.1:${await freePort()}`, `http://127.0.0.1:${await freePort()}`],
      env: realEnv(),
      requestTimeoutMs: 500,
    });
    const refused = (error: unknown): boolean =>
      isBerthError(error, 'StoreUnavailable') && error.message.includes('no etcd member answers');
    await expect(store.transact(putting('/a', '1'))).rejects.toSatisfy(refused);
    await expect(store.read(everyKey)).rejects.toSatisfy(refused);
    await store.close();
  });

  it('turns to the next member when one does not answer', async () => {
    const store = new EtcdStore({
      endpoints: [`http://127.0.0.1:${await freePort()}`, ...cluster.urls],
      env: realEnv(),
    });
    expect((await store.transact(putting('/failover', 'yes'))).kind).toBe('Committed');
    expect(await valueOf(store, '/failover')).toBe('yes');
    await store.close();
  });

  it('[S11] resumes a watch after cut connections without a gap or a repetition', async () => {
    const proxy = await startProxy(port());
    const store = new EtcdStore({ endpoints: [`http://127.0.0.1:${proxy.port}`], env: realEnv() });
    const { revision } = await direct.read(everyKey);
    const seen: string[] = [];
    const watched = (async (): Promise<void> => {
      for await (const sets of store.watch(singleKey('/n'), { after: revision })) {
        for (const set of sets) {
          for (const change of set.changes) if (change.kind === 'put') seen.push(text(change.entry));
        }
        if (seen.length >= 60) break;
      }
    })();
    for (let number = 0; number < 60; number++) {
      await direct.transact(putting('/n', String(number)));
      if (number % 15 === 7) proxy.cut();
      await sleep(5);
    }
    await watched;
    expect(seen).toEqual(Array.from({ length: 60 }, (_, number) => String(number)));
    await store.close();
    await proxy.close();
  });

  it('tells a watch that history was compacted while it was cut off', async () => {
    const proxy = await startProxy(port());
    const store = new EtcdStore({ endpoints: [`http://127.0.0.1:${proxy.port}`], env: realEnv() });
    const { revision } = await direct.read(everyKey);
    const watch = store.watch(everyKey, { after: revision });
    const first = watch.next();
    await direct.transact(putting('/x', '1'));
    await first;
    proxy.mode = 'blackhole';
    proxy.cut();
    await direct.transact(putting('/x', '2'));
    const last = await direct.transact(putting('/x', '3'));
    if (last.kind !== 'Committed') throw new Error(last.kind);
    await direct.compact(last.revision);
    proxy.cut();
    proxy.mode = 'pass';
    await expect(watch.next()).rejects.toSatisfy((error) => isBerthError(error, 'Expired'));
    await store.close();
    await proxy.close();
  });

  it('asks another member in time when one says nothing', async () => {
    const silent = await startProxy(port());
    const store = new EtcdStore({
      endpoints: [`http://127.0.0.1:${silent.port}`, ...cluster.urls],
      env: realEnv(),
      requestTimeoutMs: 3000,
    });
    await store.read(everyKey);
    silent.mode = 'blackhole';
    await store.read(everyKey);
    await store.close();
    await silent.close();
  });

  it('keeps stores with different prefixes apart, also when one begins with the other', async () => {
    const short = new EtcdStore({ endpoints: cluster.urls, env: realEnv(), prefix: '/p' });
    const long = new EtcdStore({ endpoints: cluster.urls, env: realEnv(), prefix: '/p-staging' });
    await short.transact(putting('/x', 'short'));
    await long.transact(putting('/x', 'long'));
    for (const [store, value] of [
      [short, 'short'],
      [long, 'long'],
    ] as const) {
      const { entries } = await store.read(everyKey);
      expect(entries.map((entry) => [entry.key, text(entry)])).toEqual([['/x', value]]);
      await store.close();
    }
    expect(() => new EtcdStore({ endpoints: cluster.urls, env: realEnv(), prefix: 'a b' })).toThrow(
      'etcd prefix',
    );
  });

  it('makes progress for a reader that comes late to a long history', async () => {
    const { revision: after } = await direct.read(everyKey);
    for (let round = 0; round < 30; round++) {
      await direct.transact({
        guards: [],
        writes: Array.from({ length: 100 }, (_, index) => ({
          kind: 'put',
          key: `/late/${index}`,
          value: Buffer.from('x'),
        })),
      });
    }
    const watch = direct.watch(everyKey, { after, bufferChangesMax: 50 });
    await sleep(300);
    expect((await watch.next()).value?.length).toBeGreaterThan(0);
    await watch.return();
  });

  it.each([
    constants.NGHTTP2_ENHANCE_YOUR_CALM,
    constants.NGHTTP2_INADEQUATE_SECURITY,
    constants.NGHTTP2_INTERNAL_ERROR,
  ])(
    'leaves the outcome open when the stream is reset with code %i after the request was taken',
    async (code) => {
      let requests = 0;
      const server = createServer();
      server.on('stream', (stream) => {
        stream.on('error', () => undefined);
        stream.resume();
        stream.on('end', () => {
          requests += 1;
          stream.close(code);
        });
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const address = server.address();
      if (address === null || typeof address === 'string') throw new Error('no port');
      const store = new EtcdStore({
        endpoints: [`http://127.0.0.1:${address.port}`],
        env: realEnv(),
        requestTimeoutMs: 2000,
      });
      expect((await store.transact(putting('/a', '1'))).kind).toBe('UnknownOutcome');
      expect(requests, 'it was sent once').toBe(1);
      await store.close();
      server.close();
    },
  );

  it.each(['127.0.0.1:2379', 'ftp://127.0.0.1', ''])('refuses the endpoint %j', (endpoint) => {
    expect(() => new EtcdStore({ endpoints: [endpoint], env: realEnv() })).toThrow(
      'allowed is http://HOST:PORT',
    );
  });
});

describe('the etcd store on an etcd that runs out of room', () => {
  it('never says for certain that a transaction was not applied when it was', async () => {
    const cluster = await startEtcd({ flags: ['--quota-backend-bytes', '20000000'] });
    try {
      const store = new EtcdStore({ endpoints: cluster.urls, env: realEnv() });
      const refused: string[] = [];
      let unknown = 0;
      for (let round = 0; round < 6; round++) {
        const attempts = Array.from({ length: 40 }, async (_, index) => {
          const key = `/${round}/${index}`;
          await store
            .transact({ guards: [], writes: [{ kind: 'put', key, value: Buffer.alloc(200_000) }] })
            .then(
              (outcome) => (unknown += outcome.kind === 'UnknownOutcome' ? 1 : 0),
              () => refused.push(key),
            );
        });
        await Promise.all(attempts);
      }
      expect(unknown, 'the etcd never ran out of room').toBeGreaterThan(0);
      for (const key of refused) expect((await store.read(singleKey(key))).entries).toEqual([]);
      await store.close();
    } finally {
      await cluster.stop();
    }
  });
});

describe('the etcd store over TLS', () => {
  it('works with the cluster’s CA and a client certificate, and not without', async () => {
    const cluster = await startEtcd({ tls: true });
    const tls = cluster.certificates?.pem;
    if (tls === undefined) throw new Error('no certificates');
    const store = new EtcdStore({ endpoints: cluster.urls, env: realEnv(), tls });
    expect((await store.transact(putting('/secret', 'kept'))).kind).toBe('Committed');
    expect(await valueOf(store, '/secret')).toBe('kept');
    await store.close();
    expect(() => new EtcdStore({ endpoints: ['http://127.0.0.1:1'], env: realEnv(), tls })).toThrow(
      'must be https',
    );
    for (const lacking of [undefined, { ca: tls.ca }]) {
      const stranger = new EtcdStore({
        endpoints: cluster.urls,
        env: realEnv(),
        requestTimeoutMs: 500,
        ...(lacking === undefined ? {} : { tls: lacking }),
      });
      const answer = await stranger.transact(putting('/secret', 'stolen')).then(
        (outcome) => outcome.kind,
        (error: unknown) => (isBerthError(error) ? error.code : String(error)),
      );
      expect(answer).toBeOneOf(['StoreUnavailable', 'UnknownOutcome']);
      await stranger.close();
    }
    const again = new EtcdStore({ endpoints: cluster.urls, env: realEnv(), tls });
    expect(await valueOf(again, '/secret')).toBe('kept');
    await again.close();
    await cluster.stop();
  });
});

describe('the etcd store on three members', () => {
  it('goes on while each member in turn is killed and restarted: no write is lost or doubled, no change missed', async () => {
    const cluster = await startEtcd({ members: 3 });
    const store = new EtcdStore({ endpoints: cluster.urls, env: realEnv(), requestTimeoutMs: 3000 });
    const writers = 8;
    let running = true;
    let unknown = 0;
    const next = Array.from({ length: writers }, () => 0);

    // A writer counts upwards in a key of its own. After an unknown outcome it reads back, and sends the same
    // guarded step again only if it has not landed.
    const count = async (writer: number): Promise<void> => {
      const key = `/w/${writer}`;
      for (let number = 1; running; number++) {
        for (let landed = false; !landed;) {
          try {
            const outcome = await store.transact({
              guards: [
                number === 1
                  ? { kind: 'absent', key }
                  : { kind: 'value', key, value: Buffer.from(String(number - 1)) },
              ],
              writes: [{ kind: 'put', key, value: Buffer.from(String(number)) }],
            });
            if (outcome.kind === 'Committed') landed = true;
            else if (outcome.kind === 'GuardFailed')
              landed = text(outcome.failed[0]?.current) === String(number);
            else unknown += 1;
            if (outcome.kind === 'GuardFailed' && !landed)
              throw new Error(`writer ${writer} found a stranger's value`);
          } catch (error) {
            if (!isBerthError(error, 'StoreUnavailable')) throw error;
          }
        }
        next[writer] = number;
      }
    };

    const seen = Array.from({ length: writers }, () => [] as number[]);
    const revisions: number[] = [];
    const stop = new AbortController();
    const watched = (async (): Promise<void> => {
      for await (const sets of store.watch(everyKey, { after: asRevision(1), signal: stop.signal })) {
        for (const set of sets) {
          revisions.push(set.revision);
          for (const change of set.changes) {
            if (change.kind === 'put')
              seen[Number(change.entry.key.slice(3))]?.push(Number(text(change.entry)));
          }
        }
      }
    })();

    const writing = Promise.all(next.map((_, writer) => count(writer)));
    for (let member = 0; member < 3; member++) {
      await sleep(300);
      const before = [...next];
      await cluster.kill(member);
      // The members may have to elect a leader first, which takes a second or two.
      await expect.poll(() => next.every((number, writer) => number > (before[writer] ?? 0) + 5)).toBe(true);
      await cluster.restart(member);
    }
    running = false;
    await writing;
    for (const [writer, number] of next.entries())
      expect(await valueOf(store, `/w/${writer}`)).toBe(String(number));
    while (seen.some((numbers, writer) => numbers.length < (next[writer] ?? 0))) await sleep(20);
    stop.abort();
    await watched;
    for (const [writer, numbers] of seen.entries()) {
      expect(numbers).toEqual(Array.from({ length: next[writer] ?? 0 }, (_, index) => index + 1));
    }
    expect(revisions).toEqual(revisions.toSorted((a, b) => a - b));
    expect(unknown, 'killing members never left an outcome open: the test shows nothing').toBeGreaterThan(0);
    await store.close();
    await cluster.stop();
  }, 60_000);
});
