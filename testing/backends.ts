import { setTimeout as sleep } from 'node:timers/promises';
import { realEnv } from '../src/env/real.js';
import type { Store } from '../src/store/contract.js';
import { EtcdStore } from '../src/store/etcd.js';
import { LmdbStore } from '../src/store/lmdb.js';
import { MemoryStore } from '../src/store/memory.js';
import { type EtcdCluster, startEtcd } from './etcd-server.js';
import { scratchDirectory } from './scratch.js';

/** A backend under test: `prepare` once, then any number of empty stores. */
export interface Backend {
  readonly name: 'memory' | 'lmdb' | 'etcd' | 'etcd-of-three';
  prepare(): Promise<void>;
  open(): Promise<Store>;
  /** Closes a store and opens it again on what it left, where that means something. */
  reopen?(store: Store): Promise<Store>;
  /** Frees everything, stores included. */
  dispose(): Promise<void>;
}

export const backends = (): readonly Backend[] => [memoryBackend(), lmdbBackend(), etcdBackend('etcd', 1)];

/** Three members, of which one that does not lead is killed and started again while the tests run. */
export const etcdOfThree = (): Backend => etcdBackend('etcd-of-three', 3);

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
  const paths = new Map<Store, string>();
  const openAt = async (path: string): Promise<Store> => {
    const store = await LmdbStore.open({ dir: path, env: realEnv() });
    opened.push(store);
    paths.set(store, path);
    return store;
  };
  return {
    name: 'lmdb',
    prepare: () => Promise.resolve(),
    open: () => {
      const scratch = scratchDirectory('lmdb');
      directories.push(scratch);
      return openAt(scratch.path);
    },
    reopen: async (store) => {
      await store.close();
      return openAt(paths.get(store) ?? '');
    },
    dispose: async () => {
      for (const store of opened) await store.close();
      for (const directory of directories) directory.remove();
    },
  };
}

function etcdBackend(name: 'etcd' | 'etcd-of-three', members: number): Backend {
  const opened: Store[] = [];
  let cluster: EtcdCluster | undefined;
  let endpoints: readonly string[] = [];
  let disturbance: Promise<void> = Promise.resolve();
  const disturb = async (running: EtcdCluster, follower: number): Promise<void> => {
    await sleep(500);
    await running.kill(follower);
    await sleep(2_000);
    await running.restart(follower);
  };
  return {
    name,
    prepare: async () => {
      cluster = await startEtcd({ members });
      endpoints = cluster.urls;
      if (members === 1) return;
      // Clients speak to the leader, so that losing another member leaves no outcome open.
      const leader = await cluster.leader();
      endpoints = [...cluster.urls.slice(leader), ...cluster.urls.slice(0, leader)];
      disturbance = disturb(cluster, (leader + 1) % members);
    },
    open: () => {
      // Stores share one server: each has its own part of the keyspace, none has the revisions to itself.
      const store = new EtcdStore({
        endpoints,
        env: realEnv(),
        prefix: `/test-${opened.length}`,
      });
      opened.push(store);
      return Promise.resolve(store);
    },
    dispose: async () => {
      await disturbance;
      for (const store of opened) await store.close();
      await cluster?.stop();
    },
  };
}
