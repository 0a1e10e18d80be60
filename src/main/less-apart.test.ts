import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { launch, RunnerHome, shell } from './process-runner.fixture.js';

const nobody = { uid: 65_534, gid: 65_534 };
let home: RunnerHome;
beforeEach(() => {
  home = new RunnerHome();
});
afterEach(() => home.close());

describe('what an earlier version has left', () => {
  it.runIf(process.getuid?.() === 0)('is told while its jobs run as the user of the agent', async () => {
    const before = await home.open();
    before.start(launch('a', shell('exec sleep 4336.5')));
    await home.running('a');
    expect(before.lessApart).toBeUndefined();
    await before.close();
    const after = await home.open(() => nobody);
    expect(after.lessApart).toContain('1 of the jobs here run as the user of the agent');
    after.stop('a', 0);
    await home.ended('a');
    expect(after.lessApart).toBeUndefined();
  });

  it('is told of its supervisor', async () => {
    const facts = { pid: 1, canFence: true, isolation: 'Namespace', unenforced: [], runs: [] };
    const server = createServer((socket) => {
      socket.once('data', () =>
        socket.write(`${JSON.stringify({ kind: 'welcome', version: 2, ...facts })}\n`),
      );
    }).listen(join(home.dir, 'supervisor.sock'));
    await once(server, 'listening');
    const runner = await home.open();
    expect(runner.lessApart).toBe(
      'the supervisor was started by an earlier version, which isolates jobs less',
    );
    await runner.close();
    server.close();
  });
});
