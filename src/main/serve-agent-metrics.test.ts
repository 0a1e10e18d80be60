import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { scratchDirectory } from '../../testing/scratch.js';
import { AgentMetrics } from '../agent/usage/agent-metrics.js';
import { realEnv } from '../env/real.js';
import { type AgentMetricsServer, serveAgentMetrics } from './serve-agent-metrics.js';

describe("an agent's metrics", () => {
  let scratch: ReturnType<typeof scratchDirectory>;
  let server: AgentMetricsServer | undefined;
  beforeEach(() => {
    scratch = scratchDirectory('agent-metrics');
  });
  afterEach(async () => {
    await server?.close();
    scratch.remove();
  });
  const file = (): string => join(scratch.path, 'metrics-token');
  const token = (): string => readFileSync(file(), 'utf8').trim();
  const start = async (): Promise<void> => {
    const parts = { metrics: new AgentMetrics(() => []), dir: scratch.path, env: realEnv() };
    server = await serveAgentMetrics(parts, { host: '127.0.0.1', port: 0 });
  };
  const at = (path: string, method = 'GET', authorization?: string) =>
    fetch(`http://127.0.0.1:${server?.port}${path}`, {
      method,
      ...(authorization !== undefined && { headers: { authorization } }),
    });

  it('are read at /metrics with the token of its directory, and nothing else is there', async () => {
    await start();
    const bearer = `Bearer ${token()}`;
    const answer = await at('/metrics', 'GET', bearer);
    expect(answer.headers.get('content-type')).toContain('text/plain');
    expect(await answer.text()).toContain('berth_agent_replicas 0');
    const others = [await at('/', 'GET', bearer), await at('/metrics', 'POST', bearer)];
    expect(others.map(({ status }) => status)).toEqual([404, 404]);
  });

  it('are told to nobody else, whatever is asked for', async () => {
    await start();
    for (const authorization of [undefined, '', 'Bearer ', `Bearer ${token()}x`, token()])
      for (const path of ['/metrics', '/']) expect((await at(path, 'GET', authorization)).status).toBe(401);
    expect(statSync(file()).mode & 0o777).toBe(0o600);
  });

  it('keep their token, or take the one that their operator has written, if it is long enough', async () => {
    await start();
    const first = token();
    await server?.close();
    await start();
    expect(token()).toBe(first);
    await server?.close();
    writeFileSync(file(), 'chosen-by-the-operator\n');
    await start();
    expect((await at('/metrics', 'GET', 'Bearer chosen-by-the-operator')).status).toBe(200);
    await server?.close();
    server = undefined;
    writeFileSync(file(), 'short\n');
    await expect(start()).rejects.toThrow('metrics-token has fewer than 16 characters');
  });
});
