import { join } from 'node:path';
import { scratchDirectory } from '../../testing/scratch.js';
import { realEnv } from '../env/real.js';
import { CertificateStore } from '../serve/identity/certificate-store.js';
import type { Identity } from '../serve/identity/identity.js';
import type { LogEvent } from './log.js';
import { writeKubeconfig } from './kubeconfig.js';
import { testClient, type TestClient } from './test-client.fixture.js';
import type { Running } from './server.js';
import { up, type UpOptions } from './up.js';

export interface TestServer extends Running, Pick<TestClient, 'send' | 'sendAnonymously'> {
  readonly dir: string;
  /** What the server took for its own defects. */
  readonly defects: unknown[];
  /** The warnings of its log. */
  readonly problems: string[];
  /** Its log. */
  readonly events: LogEvent[];
  /** A kubeconfig by which the server knows its user as this one. */
  kubeconfigFor(identity: Identity): Promise<string>;
  dispose(): Promise<void>;
}

/** Everything that `berth up` starts, in this process, on a directory and a port of its own. */
export async function startServer(options: Partial<UpOptions> = {}): Promise<TestServer> {
  const scratch = scratchDirectory('server');
  const server = await startServerIn(scratch.path, options);
  return {
    ...server,
    dispose: async () => {
      await server.dispose();
      scratch.remove();
    },
  };
}

/** The same on a directory that outlives it. */
export async function startServerIn(dir: string, more: Partial<UpOptions> = {}): Promise<TestServer> {
  const defects: unknown[] = [];
  const problems: string[] = [];
  const events: LogEvent[] = [];
  const running = await up({
    dir,
    port: 0,
    ...{ agent: 'None', allowsSharedUser: false },
    version: '0.0.0',
    historyMs: 300_000,
    eventsTtlMs: 3_600_000,
    scheduling: { shards: 1, plugins: [] },
    env: realEnv(),
    ...more,
    log: (event) => {
      const { level, component, object, message, error } = event;
      if (level === 'error') defects.push(error ?? message);
      if (level === 'warn')
        problems.push(`${component}${object === undefined ? '' : ` ${object}`}: ${message}`);
      events.push(event);
    },
  });
  const client = testClient(running.kubeconfig);
  return {
    ...running,
    dir,
    defects,
    problems,
    events,
    send: (...words) => client.send(...words),
    sendAnonymously: (...words) => client.sendAnonymously(...words),
    kubeconfigFor: async (identity) => {
      const { authority } = await CertificateStore.open({ dir, env: realEnv(), hosts: [] });
      const tenantUid =
        identity.kind === 'tenant'
          ? running.objects.get('Tenant', undefined, identity.tenant)?.metadata.uid
          : undefined;
      const { certificatePem, privateKeyPem } = await authority.issueClient(identity, 3_600_000, tenantUid);
      const path = join(dir, `kubeconfig-${JSON.stringify(identity).replaceAll(/\W+/g, '-')}`);
      writeKubeconfig(path, {
        server: running.url,
        ca: authority.certificatePem,
        certificate: certificatePem,
        key: privateKeyPem,
      });
      return path;
    },
    dispose: async () => {
      client.close();
      await running.close();
    },
  };
}
