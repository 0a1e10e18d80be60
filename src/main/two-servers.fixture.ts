import { join } from 'node:path';
import type { EtcdCluster } from '../../testing/etcd-server.js';
import { scratchDirectory } from '../../testing/scratch.js';
import { type BerthProcess, startBerth } from './process.fixture.js';
import { type TestClient, testClient } from './test-client.fixture.js';

export interface TwoServers {
  readonly servers: BerthProcess[];
  readonly clients: TestClient[];
  /** Holds the directories `a` and `b` of the servers. */
  readonly path: string;
  close(): Promise<void>;
}

/** Two server processes on one etcd, each with a client of its own. Their directories can be prepared. */
export async function startTwoServers(
  etcd: EtcdCluster,
  name: string,
  prepare: (path: string) => Promise<void> = () => Promise.resolve(),
  flags: Readonly<Record<'a' | 'b', readonly string[]>> = { a: [], b: [] },
): Promise<TwoServers> {
  const scratch = scratchDirectory(name);
  await prepare(scratch.path);
  const servers = await Promise.all(
    (['a', 'b'] as const).map((dir) =>
      startBerth([
        ...['server', '--store', `etcd:${etcd.urls.join(',')}`, '--dir', join(scratch.path, dir)],
        ...['--listen', '127.0.0.1:0', ...flags[dir]],
      ]),
    ),
  );
  const clients = servers.map(({ kubeconfig }) => testClient(kubeconfig));
  return {
    servers,
    clients,
    path: scratch.path,
    close: async () => {
      for (const client of clients) client.close();
      for (const { child } of servers) child.kill('SIGKILL');
      await Promise.all(servers.map(({ ended }) => ended));
      scratch.remove();
    },
  };
}
