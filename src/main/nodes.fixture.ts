import type { CertificatePair } from '../serve/identity/authority-certificate.js';
import { CertificateStore } from '../serve/identity/certificate-store.js';
import { realEnv } from '../env/real.js';
import { writeKubeconfig } from './kubeconfig.js';
import { join } from 'node:path';
import { type TestClient, testClient } from './test-client.fixture.js';

const operations = '/apis/authority.berth.dev/v1/operations';

export interface PlayedNodes {
  /** Registers nodes that offer this; nothing runs on them. */
  register(names: readonly string[], cpu: string): Promise<void>;
  operate<T>(operation: string, input: object): Promise<T>;
  close(): void;
}

/** Nodes as the authority knows them, without agents: asked for as another server of the cell would ask. */
export async function playedNodes(server: {
  readonly url: string;
  readonly dir: string;
  /** The CA that servers on one store share. */
  readonly authority?: CertificatePair;
}): Promise<PlayedNodes> {
  const { authority: shared } = server;
  const { authority } = await CertificateStore.open({
    ...{ dir: server.dir, env: realEnv(), hosts: [] },
    ...(shared !== undefined && { authority: shared }),
  });
  const identity = { kind: 'controller', controller: 'commit' } as const;
  const { certificatePem, privateKeyPem } = await authority.issueClient(identity, 3_600_000);
  const path = join(server.dir, 'kubeconfig-nodes');
  writeKubeconfig(path, {
    ...{ server: server.url, ca: authority.certificatePem, certificate: certificatePem, key: privateKeyPem },
  });
  const client: TestClient = testClient(path);
  const operate = async <T>(operation: string, input: object): Promise<T> => {
    const answer = await client.send('POST', `${operations}/${operation}`, {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(input),
    });
    const outcome = JSON.parse(answer.text) as { kind: string; result: T };
    if (outcome.kind !== 'Committed') throw new Error(`${operation}: ${answer.text}`);
    return outcome.result;
  };
  return {
    operate,
    register: async (names, cpu) => {
      const offers = { cpu, memory: '64Gi' };
      for (const node of names)
        await operate('register', {
          ...{ node, capacity: offers, allocatable: offers, leaseSeconds: 40, operation: `register/${node}` },
          agent: { version: 'test', drivers: ['process'] },
        });
    },
    close: () => client.close(),
  };
}
