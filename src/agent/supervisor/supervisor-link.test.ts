import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { realEnv } from '../../env/real.js';
import { SupervisorLink } from './supervisor-link.js';

const env = realEnv();
// Waits that are for people are a hundredth as long here.
const hasty = { ...env, after: (ms: number, callback: () => void) => env.after(ms / 100, callback) };

describe('the link to a supervisor that answers once and then no more', () => {
  let dir: string;
  let server: Server;
  const sockets: Socket[] = [];
  let version = 2;

  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), 'berth-link-'));
    server = createServer((socket) => {
      sockets.push(socket);
      const facts = { pid: 1, canFence: true, isolation: 'Group', unenforced: [], runs: [] };
      socket.write(`${JSON.stringify({ kind: 'welcome', version, ...facts })}\n`);
    }).listen(join(dir, 'supervisor.sock'));
    await once(server, 'listening');
  });

  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
    server.close();
    rmSync(dir, { recursive: true });
  });

  async function openLink() {
    const said: string[] = [];
    const link = new SupervisorLink({
      ...{ dir, program: '/no/such/program', env: hasty },
      ...{ onWelcome: () => undefined, onEvent: () => undefined },
      onProblem: (message) => void said.push(message),
      onSilent: (message) => void said.push(message),
    });
    await link.open();
    return { link, said };
  }

  it('says so, and does not wait for it for ever when all is to end', async () => {
    const { link, said } = await openLink();
    await expect.poll(() => said[0]).toContain('the supervisor has not answered for');
    await link.end(1);
    expect(said.at(-1)).toContain('has not ended its jobs in time');
  });

  it('does not take one for silent that was never asked: an older one', async () => {
    version = 1;
    const { link, said } = await openLink();
    await env.sleep(500);
    expect(said).toEqual([]);
    link.close();
  });
});
