import { realEnv } from '../src/env/real.js';
import { EtcdEndpoints, type EtcdMethod } from '../src/store/etcd-endpoints.js';
import { encodedTxnMethod } from '../src/store/etcd-protocol.js';
import { encodeTransaction } from '../src/store/etcd-transaction.js';
import { load } from './measure.js';

const putsPerTransaction = 100;
const callers = 8;
const callersOfSingle = 128;
const bareMs = 2_000;

/** What an etcd takes in puts alone, without guards. */
export interface BarePuts {
  /** Many to a transaction: the limit of whatever writes to it. */
  perSecond(valueBytes: number): Promise<number>;
  /** One to a request, many requests at a time: what `etcdctl check perf` counts, and is called puts a second of an etcd. */
  singlePerSecond(valueBytes: number): Promise<number>;
  close(): void;
}

// A put as a request of its own: in a transaction of one, etcd would first copy all it has not yet written to its file.
const putMethod: EtcdMethod<Buffer, Buffer> = {
  path: '/etcdserverpb.KV/Put',
  requestSerialize: (request) => request,
  responseDeserialize: (answer) => answer,
};

const field = (number: number, bytes: Buffer): Buffer => {
  const { length } = bytes;
  const size = length < 128 ? [length] : [(length & 127) | 128, length >> 7];
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...size]), bytes]);
};

export async function openBarePuts(urls: readonly string[]): Promise<BarePuts> {
  const endpoints = new EtcdEndpoints(urls, realEnv(), undefined);
  const member = await endpoints.connected(5_000);
  const sendMany = (caller: number, round: number, value: Buffer): Promise<unknown> => {
    const writes = Array.from({ length: putsPerTransaction }, (_, index) => ({
      kind: 'put' as const,
      key: `/${caller}/${round % 100}/${index}`,
      value,
    }));
    return endpoints.call(
      member,
      encodedTxnMethod,
      encodeTransaction({ guards: [], writes }, '/bare'),
      10_000,
    );
  };
  const sendOne = (caller: number, round: number, value: Buffer): Promise<unknown> => {
    const key = Buffer.from(`/bare/${caller}/${round % 100}`);
    return endpoints.call(member, putMethod, Buffer.concat([field(1, key), field(2, value)]), 10_000);
  };
  return {
    perSecond: async (valueBytes) => {
      const value = Buffer.alloc(valueBytes, 'v');
      const { perSecond } = await load(callers, bareMs, (caller, round) => sendMany(caller, round, value));
      return perSecond * putsPerTransaction;
    },
    singlePerSecond: async (valueBytes) => {
      const value = Buffer.alloc(valueBytes, 'v');
      const { perSecond } = await load(callersOfSingle, bareMs, (caller, round) =>
        sendOne(caller, round, value),
      );
      return perSecond;
    },
    close: () => endpoints.close(),
  };
}
