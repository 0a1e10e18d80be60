import { readFileSync } from 'node:fs';
import { Agent, request as httpsRequest } from 'node:https';
import { parse } from 'yaml';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

export interface TestClient {
  send(
    method: string,
    path: string,
    options?: { headers?: Record<string, string>; body?: string | Buffer },
  ): Promise<Answer>;
  /** Without the administrator's certificate. */
  sendAnonymously(
    method: string,
    path: string,
    headers?: Record<string, string>,
    body?: string,
  ): Promise<Answer>;
  close(): void;
}

interface Kubeconfig {
  readonly clusters: readonly {
    readonly cluster: { readonly server: string; readonly 'certificate-authority-data': string };
  }[];
  readonly users: readonly {
    readonly user: { readonly 'client-certificate-data': string; readonly 'client-key-data': string };
  }[];
}

/** Sends requests as a kubeconfig says (to another server, if given), and nothing more: tests look at what comes back. */
export function testClient(kubeconfig: string, server?: string): TestClient {
  const config = parse(readFileSync(kubeconfig, 'utf8')) as Kubeconfig;
  const decode = (text: string | undefined): string => Buffer.from(text ?? '', 'base64').toString();
  const cluster = config.clusters[0]?.cluster;
  const user = config.users[0]?.user;
  const ca = decode(cluster?.['certificate-authority-data']);
  const cert = decode(user?.['client-certificate-data']);
  const key = decode(user?.['client-key-data']);
  const admin = new Agent({ ca, cert, key, keepAlive: true, maxSockets: 16 });
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
      const request = httpsRequest(
        server ?? cluster?.server ?? '',
        { agent, method, path, headers: framed },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('end', () => {
            const text = Buffer.concat(chunks).toString();
            resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
          });
          response.on('error', reject);
        },
      );
      request.on('error', reject);
      request.end(body);
    });
  return {
    send: (method, path, { headers = {}, body } = {}) => send(admin, method, path, headers, body),
    sendAnonymously: (method, path, headers = {}, body) => send(nobody, method, path, headers, body),
    close: () => {
      admin.destroy();
      nobody.destroy();
    },
  };
}
