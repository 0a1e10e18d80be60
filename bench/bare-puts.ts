import { realEnv } from '../src/env/real.js';
import { EtcdEndpoints } from '../src/store/etcd-endpoints.js';
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
  /** One to a request, many requests at a time, as etcd's own figures count them. */
  singlePerSecond(valueBytes: number): Promise<number>;
  close(): void;
}

export async function openBarePuts(urls: readonly string[]): Promise<BarePuts> {
  const endpoints = new EtcdEndpoints(urls, realEnv(), undefined);
  const member = await endpoints.connected(5_000);
  const send = (caller: number, round: number, value: Uint8Array, puts: number): Promise<unknown> => {
    const writes = Array.from({ length: puts }, (_, index) => ({
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
  const measured = async (valueBytes: number, atOnce: number, puts: number): Promise<number> => {
    const value = Buffer.alloc(valueBytes, 'v');
    const { perSecond } = await load(atOnce, bareMs, (caller, round) => send(caller, round, value, puts));
    return perSecond * puts;
  };
  return {
    perSecond: (valueBytes) => measured(valueBytes, callers, putsPerTransaction),
    singlePerSecond: (valueBytes) => measured(valueBytes, callersOfSingle, 1),
    close: () => endpoints.close(),
  };
}
