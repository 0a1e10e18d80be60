import { realEnv } from '../src/env/real.js';
import { EtcdEndpoints } from '../src/store/etcd-endpoints.js';
import { encodedTxnMethod } from '../src/store/etcd-protocol.js';
import { encodeTransaction } from '../src/store/etcd-transaction.js';
import { load } from './measure.js';

const putsPerTransaction = 100;
const callers = 8;
const bareMs = 2_000;

/** What an etcd takes in puts alone, many to a transaction and without guards: the limit of whatever writes to it. */
export async function openBarePuts(
  urls: readonly string[],
): Promise<{ perSecond(valueBytes: number): Promise<number>; close(): void }> {
  const endpoints = new EtcdEndpoints(urls, realEnv(), undefined);
  const member = await endpoints.connected(5_000);
  const send = (caller: number, round: number, value: Uint8Array): Promise<unknown> => {
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
  return {
    perSecond: async (valueBytes) => {
      const value = Buffer.alloc(valueBytes, 'v');
      const { perSecond } = await load(callers, bareMs, (caller, round) => send(caller, round, value));
      return perSecond * putsPerTransaction;
    },
    close: () => endpoints.close(),
  };
}
