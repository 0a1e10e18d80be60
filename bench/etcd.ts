import { realEnv } from '../src/env/real.js';
import { EtcdStore } from '../src/store/etcd.js';
import { EtcdEndpoints } from '../src/store/etcd-endpoints.js';
import { txnMethod } from '../src/store/etcd-protocol.js';
import { startEtcd } from '../testing/etcd-server.js';
import { guardedWriter } from './guarded-writer.js';
import { type Bench, inTurn, load } from './measure.js';

const value = Buffer.alloc(200, 'v');
const writesPerTransaction = 100;
const callers = 8;
const runMs = 4_000;

export const etcdBench: Bench = {
  name: 'etcd',
  title: `etcd store, one member: guarded writes in transactions of ${writesPerTransaction}, ${callers} callers`,
  async run(print) {
    const cluster = await startEtcd();
    const env = realEnv();
    const store = new EtcdStore({ endpoints: cluster.urls, env });
    const endpoints = new EtcdEndpoints(cluster.urls, env, undefined);
    const member = await endpoints.connected(5_000);
    const keysOf = (caller: number, round: number): string[] =>
      Array.from({ length: writesPerTransaction }, (_, index) => `/bench/${caller}/${round % 100}/${index}`);
    const write = guardedWriter(store, value, keysOf);

    const [bare, berth] = await inTurn(
      3,
      () =>
        load(callers, runMs, (caller, round) =>
          endpoints.call(
            member,
            txnMethod,
            {
              compare: [],
              success: keysOf(caller, round).map((key) => ({
                request_put: { key: Buffer.from(`/bare${key}`), value },
              })),
              failure: [],
            },
            10_000,
          ),
        ),
      () => load(callers, runMs, write),
    );
    if (bare === undefined || berth === undefined) throw new Error('nothing was measured');
    const what = 'bare puts on this etcd';
    print({
      name: 'guarded writes',
      value: berth.perSecond * writesPerTransaction,
      unit: '/s',
      limit: { value: bare.perSecond * writesPerTransaction, what },
      target: { atLeast: 10_000 },
    });
    print({ name: 'transaction p50', value: berth.p50Ms, unit: 'ms', limit: { value: bare.p50Ms, what } });
    print({ name: 'transaction p99', value: berth.p99Ms, unit: 'ms', limit: { value: bare.p99Ms, what } });
    await store.close();
    endpoints.close();
    await cluster.stop();
  },
};
