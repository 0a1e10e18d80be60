import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../testing/free-port.js';
import type { AgentConfigSpec } from '../agent/machine/agent-config.js';
import { type BerthProcess, endSupervisor, startBerth } from './process.fixture.js';
import type { TestServer } from './running.fixture.js';

/** `berth agent` in a process of its own, which joined by a token as an operator gives it. */
export class ShippedAgent {
  #running: BerthProcess | undefined;

  private constructor(
    readonly node: string,
    private readonly dir: string,
    private readonly words: readonly string[],
  ) {}

  /** Whether it is heard is what `start` waits for. */
  static async joining(
    server: TestServer,
    at: { readonly home: string; readonly node: string; readonly url: string },
    spec: AgentConfigSpec,
  ): Promise<ShippedAgent> {
    const { home, node, url } = at;
    const file = (name: string, text: string): string => {
      writeFileSync(join(home, `${node}.${name}`), text);
      return join(home, `${node}.${name}`);
    };
    const { text } = await server.send('POST', '/apis/authentication.berth.dev/v1/tokens', {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ spec: { join: { node }, ttl: '1h' } }),
    });
    const { status } = JSON.parse(text) as { readonly status: { readonly token: string } };
    // Several are on one machine here, and what runs on them writes into a directory of the test.
    const more = {
      ...(process.getuid?.() === 0 && { runAs: 'root' }),
      metrics: `127.0.0.1:${await freePort()}`,
    };
    const config = {
      ...{ apiVersion: 'berth.dev/v1', kind: 'AgentConfig', metadata: { name: node } },
      spec: { ...more, ...spec },
    };
    const dir = join(home, node);
    return new ShippedAgent(node, dir, [
      ...['agent', '--server', url, '--token-file', file('token', status.token)],
      ...['--dir', dir, '--name', node, '--config', file('config.json', JSON.stringify(config))],
    ]);
  }

  get supervisor(): number {
    return Number(readFileSync(join(this.dir, 'supervisor/lock'), 'utf8'));
  }

  async start(): Promise<void> {
    this.#running = await startBerth(this.words);
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#running?.child.kill(signal);
  }

  /** Its jobs and its supervisor go on. */
  async kill(): Promise<void> {
    this.#running?.child.kill('SIGKILL');
    await this.#running?.ended;
  }

  async close(): Promise<void> {
    await this.kill();
    endSupervisor(this.dir);
  }
}
