import { scratchDirectory } from '../../testing/scratch.js';
import { realEnv } from '../env/real.js';
import { testClient, type TestClient } from './test-client.fixture.js';
import type { Running } from './server.js';
import { up } from './up.js';

export interface TestServer extends Running, Pick<TestClient, 'send' | 'sendAnonymously'> {
  readonly dir: string;
  /** What the server took for its own defects. */
  readonly defects: unknown[];
  dispose(): Promise<void>;
}

/** Everything that `berth up` starts, in this process, on a directory and a port of its own. */
export async function startServer(): Promise<TestServer> {
  const scratch = scratchDirectory('server');
  const server = await startServerIn(scratch.path);
  return {
    ...server,
    dispose: async () => {
      await server.dispose();
      scratch.remove();
    },
  };
}

/** The same on a directory that outlives it. */
export async function startServerIn(dir: string): Promise<TestServer> {
  const defects: unknown[] = [];
  const running = await up({
    dir,
    port: 0,
    version: '0.0.0',
    historyMs: 300_000,
    eventsTtlMs: 3_600_000,
    env: realEnv(),
    onDefect: (error) => defects.push(error),
  });
  const client = testClient(running.kubeconfig);
  return {
    ...running,
    dir,
    defects,
    send: (...words) => client.send(...words),
    sendAnonymously: (...words) => client.sendAnonymously(...words),
    dispose: async () => {
      client.close();
      await running.close();
    },
  };
}
