import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { createSecureContext, type SecureContext } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import type { Stretches } from './loop-probe.js';

/** A server in a process of its own. */
export interface ServerProcess {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly readyMs: number;
  readonly process: ChildProcess;
  stop(): Promise<void>;
}

/** Starts a program and waits for the line in which it says where it listens. */
export async function startServer(args: readonly string[]): Promise<ServerProcess> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
  const ready = await new Promise<string>((resolve, reject) => {
    let said = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      if (said.includes('\n')) resolve(said);
    });
    child.once('exit', (code) => reject(new Error(`${args.join(' ')} ended with ${code}`)));
  });
  const readyMs = performance.now() - startedAt;
  const url = /https:\S+/.exec(ready)?.[0] ?? '';
  return {
    url,
    // Who only connects to others listens nowhere.
    port: url === '' ? 0 : Number(new URL(url).port),
    pid: child.pid ?? 0,
    readyMs,
    process: child,
    stop: async () => {
      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      await gone;
    },
  };
}

/** Node's own HTTPS server, which answers so many bytes under the certificate of the server in `dir`: the stack's limit. */
export const startBare = (dir: string, answerBytes: number): Promise<ServerProcess> =>
  startServer([
    fileURLToPath(new URL('./bare-server.js', import.meta.url)),
    `${dir}/pki/server.pem`,
    String(answerBytes),
  ]);

export interface UpProcess extends ServerProcess {
  readonly agent: Agent;
  readonly secureContext: SecureContext;
}

/** `berth up` as a user starts it; `probed` has it watch its own event loop. */
export async function startUp(dir: string, probed: 'probed' | 'plain' = 'plain'): Promise<UpProcess> {
  const program = fileURLToPath(new URL('../src/cli/berth.js', import.meta.url));
  const probe = fileURLToPath(new URL('./loop-probe.js', import.meta.url));
  const server = await startServer([
    ...(probed === 'probed' ? ['--import', probe] : []),
    program,
    'up',
    '--dir',
    dir,
    '--port',
    '0',
    '--no-agent',
  ]);
  const config = parse(readFileSync(`${dir}/kubeconfig`, 'utf8')) as {
    clusters: { cluster: Record<string, string> }[];
    users: { user: Record<string, string> }[];
  };
  const decode = (text: string | undefined): string => Buffer.from(text ?? '', 'base64').toString();
  const user = config.users[0]?.user ?? {};
  const credentials = {
    ca: decode(config.clusters[0]?.cluster['certificate-authority-data']),
    cert: decode(user['client-certificate-data']),
    key: decode(user['client-key-data']),
  };
  const agent = new Agent({ ...credentials, keepAlive: true, maxSockets: 1_000 });
  const stop = async (): Promise<void> => {
    agent.destroy();
    await server.stop();
  };
  return { ...server, agent, secureContext: createSecureContext(credentials), stop };
}

/** What the probe has seen since it was last told to start. */
export function stretchesOf(server: UpProcess): Promise<Stretches> {
  return new Promise((resolve) => {
    server.process.once('message', (stretches) => resolve(stretches as Stretches));
    server.process.send('read');
  });
}

export function send(
  { url, agent }: Pick<UpProcess, 'url' | 'agent'>,
  method: string,
  path: string,
  body?: string,
  contentType = 'application/json',
): Promise<{ status: number; bytes: number; head: string }> {
  return new Promise((resolve, reject) => {
    const headers =
      body === undefined ? {} : { 'content-type': contentType, 'content-length': Buffer.byteLength(body) };
    const sent = request(url, { agent, method, path, headers }, (response) => {
      let bytes = 0;
      let head = '';
      response.on('data', (chunk: Buffer) => {
        if (bytes === 0) head = chunk.toString('utf8', 0, 1_000);
        bytes += chunk.length;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, bytes, head }));
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
