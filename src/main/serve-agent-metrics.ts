import { createHash, timingSafeEqual } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { AgentMetrics } from '../agent/usage/agent-metrics.js';
import type { Env } from '../env/env.js';
import { BerthError } from '../model/errors.js';
import type { ListenAddress } from './listen-address.js';

export interface AgentMetricsServer {
  readonly port: number;
  close(): Promise<void>;
}

const requestMs = 10_000;
const connectionsMax = 64;
const tokenBytes = 32;
const tokenCharsMin = 16;

/**
 * GET /metrics of an agent, without TLS, for those who have the token in DIR/metrics-token: what it tells names the tenants
 * of the node, and every job of the node reaches its loopback address.
 */
export async function serveAgentMetrics(
  {
    metrics,
    dir,
    env,
  }: { readonly metrics: AgentMetrics; readonly dir: string; readonly env: Pick<Env, 'secret'> },
  { host, port }: ListenAddress,
): Promise<AgentMetricsServer> {
  const expected = digestOf(`Bearer ${tokenIn(dir, env)}`);
  const server = createServer(
    { requestTimeout: requestMs, headersTimeout: requestMs },
    (request, response) => {
      const plain = { 'content-type': 'text/plain' };
      if (!timingSafeEqual(digestOf(request.headers.authorization ?? ''), expected)) {
        response
          .writeHead(401, { ...plain, 'www-authenticate': 'Bearer' })
          .end('give the token of the file metrics-token in the directory of the agent\n');
        return;
      }
      if (request.method !== 'GET' || request.url?.split('?')[0] !== '/metrics') {
        response.writeHead(404, plain).end('only GET /metrics is here\n');
        return;
      }
      metrics.text().then(
        (text) => response.writeHead(200, { 'content-type': metrics.contentType }).end(text),
        () => response.writeHead(500).end(),
      );
    },
  );
  server.maxConnections = connectionsMax;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** The token that is there, which its operator may have written, or one that is made once. */
function tokenIn(dir: string, env: Pick<Env, 'secret'>): string {
  const file = join(dir, 'metrics-token');
  try {
    const made = Buffer.from(env.secret(tokenBytes)).toString('base64url');
    writeFileSync(file, `${made}\n`, { mode: 0o600, flag: 'wx' });
    return made;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const token = readFileSync(file, 'utf8').trim();
  if (token.length < tokenCharsMin)
    throw new BerthError(
      'InvalidToken',
      `${file} has fewer than ${tokenCharsMin} characters; remove it, and another one is made`,
    );
  return token;
}

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest();
