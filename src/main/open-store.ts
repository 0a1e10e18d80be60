import type { Env } from '../env/env.js';
import { BerthError } from '../model/errors.js';
import type { Metrics } from '../serve/metrics.js';
import type { Store } from '../store/contract.js';
import type { EtcdTls } from '../store/etcd-endpoints.js';
import { MeasuredStore } from '../store/measured.js';
import type { StoreAddress } from './store-address.js';

/** Opens the store at an address and has its transactions measured. Only the backend that is used is loaded. */
export async function openStore(
  address: StoreAddress,
  { env, metrics, etcdTls }: { env: Env; metrics: Metrics; etcdTls: EtcdTls | undefined },
): Promise<Store> {
  const measured = (store: Store): Store =>
    new MeasuredStore(store, env, (outcome, durationMs) => metrics.transaction(outcome, durationMs));
  if (address.kind === 'lmdb') {
    const { LmdbStore } = await import('../store/lmdb.js');
    const onBatch = (transactions: number): void => metrics.batch(transactions);
    return measured(await LmdbStore.open({ dir: address.dir, env, onBatch }));
  }
  const plain = address.urls.find((url) => url.startsWith('http:'));
  if (etcdTls !== undefined && plain !== undefined) {
    throw new BerthError(
      'InvalidStoreAddress',
      `certificates for etcd are given, and ${plain} does without: write https://`,
    );
  }
  const { EtcdStore } = await import('../store/etcd.js');
  return measured(
    new EtcdStore({ endpoints: address.urls, env, ...(etcdTls === undefined ? {} : { tls: etcdTls }) }),
  );
}
