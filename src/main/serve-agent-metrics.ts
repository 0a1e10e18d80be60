import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { AgentMetrics } from '../agent/usage/agent-metrics.js';
import type { ListenAddress } from './listen-address.js';

export interface AgentMetricsServer {
  readonly port: number;
  close(): Promise<void>;
}

const requestMs = 10_000;
const connectionsMax = 64;

/** GET /metrics of an agent, without TLS: it listens on loopback unless its operator says otherwise, and changes nothing. */
export async function serveAgentMetrics(
  metrics: AgentMetrics,
  { host, port }: ListenAddress,
): Promise<AgentMetricsServer> {
  const server = createServer(
    { requestTimeout: requestMs, headersTimeout: requestMs },
    (request, response) => {
      if (request.method !== 'GET' || request.url?.split('?')[0] !== '/metrics') {
        response.writeHead(404, { 'content-type': 'text/plain' }).end('only GET /metrics is here\n');
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
