import { describe, expect, it } from 'vitest';
import { AgentMetrics } from '../agent/usage/agent-metrics.js';
import { serveAgentMetrics } from './serve-agent-metrics.js';

describe("an agent's metrics", () => {
  it('are read at /metrics, and nothing else is there', async () => {
    const server = await serveAgentMetrics(new AgentMetrics(() => []), { host: '127.0.0.1', port: 0 });
    const at = (path: string, method = 'GET') => fetch(`http://127.0.0.1:${server.port}${path}`, { method });
    const answer = await at('/metrics');
    expect(answer.headers.get('content-type')).toContain('text/plain');
    expect(await answer.text()).toContain('berth_agent_replicas 0');
    expect([(await at('/')).status, (await at('/metrics', 'POST')).status]).toEqual([404, 404]);
    await server.close();
  });
});
