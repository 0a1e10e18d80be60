import { readFileSync } from 'node:fs';
import { Agent, request as httpsRequest } from 'node:https';
import { parse } from 'yaml';
import { scratchDirectory } from '../../testing/scratch.js';
import { realEnv } from '../env/real.js';
import { type Running, up } from './up.js';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

export interface TestServer extends Running {
  readonly dir: string;
  /** What the server took for its own defects. */
  readonly defects: unknown[];
  send(
    method: string,
    path: string,
    options?: { headers?: Record<string, string>; body?: string | Buffer },
  ): Promise<Answer>;
  /** Without the administrator's certificate. */
  sendAnonymously(method: string, path: string, headers?: Record<string, string>): Promise<Answer>;
  dispose(): Promise<void>;
}

interface Kubeconfig {
  readonly clusters: readonly { readonly cluster: { readonly 'certificate-authority-data': string } }[];
  readonly users: readonly {
    readonly user: { readonly 'client-certificate-data': string; readonly 'client-key-data': string };
  }[];
}

/** Everything that `berth up` starts, in this process, on a directory and a port of its own. */
export async function startServer(): Promise<TestServer> {
  const scratch = scratchDirectory('server');
  const defects: unknown[] = [];
  const running = await up({
    dir: scratch.path,
    port: 0,
    version: '0.0.0',
    historyMs: 300_000,
    env: realEnv(),
    onDefect: (error) => defects.push(error),
  });
  const config = parse(readFileSync(running.kubeconfig, 'utf8')) as Kubeconfig;
  const decode = (text: string | undefined): string => Buffer.from(text ?? '', 'base64').toString();
  const ca = decode(config.clusters[0]?.cluster['certificate-authority-data']);
  const user = config.users[0]?.user;
  const admin = new Agent({
    ca,
    cert: decode(user?.['client-certificate-data']),
    key: decode(user?.['client-key-data']),
    keepAlive: true,
    maxSockets: 16,
  });
  const nobody = new Agent({ ca, keepAlive: true });
  const send = (
    agent: Agent,
    method: string,
    path: string,
    headers: Record<string, string>,
    body?: string | Buffer,
  ): Promise<Answer> =>
    new Promise((resolve, reject) => {
      // Node frames the body of a DELETE only if its length is given.
      const framed =
        body === undefined ? headers : { ...headers, 'content-length': String(Buffer.byteLength(body)) };
      const request = httpsRequest(running.url, { agent, method, path, headers: framed }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text: Buffer.concat(chunks).toString(),
          }),
        );
        response.on('error', reject);
      });
      request.on('error', reject);
      request.end(body);
    });
  return {
    ...running,
    dir: scratch.path,
    defects,
    send: (method, path, { headers = {}, body } = {}) => send(admin, method, path, headers, body),
    sendAnonymously: (method, path, headers = {}) => send(nobody, method, path, headers),
    dispose: async () => {
      admin.destroy();
      nobody.destroy();
      await running.close();
      scratch.remove();
    },
  };
}
