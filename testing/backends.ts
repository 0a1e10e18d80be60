import { realEnv } from '../src/env/real.js';
import type { Store } from '../src/store/contract.js';
import { EtcdStore } from '../src/store/etcd.js';
import { LmdbStore } from '../src/store/lmdb.js';
import { MemoryStore } from '../src/store/memory.js';
import { type EtcdCluster, startEtcd } from './etcd-server.js';
import { scratchDirectory } from './scratch.js';

/** A backend under test: `prepare` once, then any number of empty stores. */
export interface Backend {
  readonly name: 'memory' | 'lmdb' | 'etcd';
  prepare(): Promise<void>;
  open(): Promise<Store>;
  /** Frees everything, stores included. */
  dispose(): Promise<void>;
}

export const backends = (): readonly Backend[] => [memoryBackend(), lmdbBackend(), etcdBackend()];

function memoryBackend(): Backend {
  return {
    name: 'memory',
    prepare: () => Promise.resolve(),
    open: () => Promise.resolve(new MemoryStore(realEnv())),
    dispose: () => Promise.resolve(),
  };
}

function lmdbBackend(): Backend {
  const opened: Store[] = [];
  const directories: { remove(): void }[] = [];
  return {
    name: 'lmdb',
    prepare: () => Promise.resolve(),
    open: async () => {
      const scratch = scratchDirectory('lmdb');
      directories.push(scratch);
      const store = await LmdbStore.open({ dir: scratch.path, env: realEnv() });
      opened.push(store);
      return store;
    },
    dispose: async () => {
      for (const store of opened) await store.close();
      for (const directory of directories) directory.remove();
    },
  };
}

function etcdBackend(): Backend {
  const opened: Store[] = [];
  let cluster: EtcdCluster | undefined;
  return {
    name: 'etcd',
    prepare: async () => {
      cluster = await startEtcd();
    },
    open: () => {
      // Stores share one server: each has its own part of the keyspace, none has the revisions to itself.
      const store = new EtcdStore({
        endpoints: cluster?.urls ?? [],
        env: realEnv(),
        prefix: `/test-${opened.length}`,
      });
      opened.push(store);
      return Promise.resolve(store);
    },
    dispose: async () => {
      for (const store of opened) await store.close();
      await cluster?.stop();
    },
  };
}
