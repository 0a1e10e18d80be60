import type { ChildProcess } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Ran, run } from '../../testing/run-process.js';
import { scratchDirectory } from '../../testing/scratch.js';
import { SeededRandom } from '../env/random.js';
import { type BerthProcess, program, startBerth } from './process.fixture.js';
import { testClient } from './test-client.fixture.js';

const workloads = '/apis/berth.dev/v1/namespaces/default/workloads';
const workload = (name: string): string =>
  JSON.stringify({
    apiVersion: 'berth.dev/v1',
    kind: 'Workload',
    metadata: { name },
    spec: { type: 'Service', replicas: 1, template: { run: { process: { command: ['x'] } } } },
  });

describe('berth up', () => {
  let scratch: ReturnType<typeof scratchDirectory>;
  let children: ChildProcess[];
  beforeEach(() => {
    scratch = scratchDirectory('up');
    children = [];
  });
  afterEach(() => {
    for (const child of children) child.kill('SIGKILL');
    scratch.remove();
  });
  const dir = (): string => join(scratch.path, 'data');

  const start = async (...words: string[]): Promise<BerthProcess> => {
    const started = await startBerth(['up', '--dir', dir(), '--port', '0', '--no-agent', ...words]);
    children.push(started.child);
    return started;
  };

  it('says once that it is ready, keeps its kubeconfig to its owner, and stops cleanly when told to', async () => {
    const { child, said, ended } = await start();
    expect(said).toMatch(/^ready https:\/\/127\.0\.0\.1:\d+ \(kubeconfig: .*kubeconfig\)\n$/);
    expect(statSync(join(dir(), 'kubeconfig')).mode & 0o777).toBe(0o600);
    child.kill('SIGTERM');
    expect(await ended).toBe(0);
  });

  it('forgets events when their time is over', async () => {
    const { said } = await start('--events-ttl', '1s');
    expect(said).toContain('ready');
    const client = testClient(join(dir(), 'kubeconfig'));
    const headers = { 'content-type': 'application/json' };
    const tokenBody = JSON.stringify({ spec: { identity: 'controller:workload-controller' } });
    const made = await client.send('POST', '/apis/authentication.berth.dev/v1/tokens', {
      headers,
      body: tokenBody,
    });
    const { token } = (JSON.parse(made.text) as { status: { token: string } }).status;
    const events = '/api/v1/namespaces/default/events';
    const event = { metadata: { name: 'e' }, involvedObject: { kind: 'Workload', name: 'w' }, reason: 'X' };
    const authorization = `Bearer ${token}`;
    const created = await client.sendAnonymously(
      'POST',
      events,
      { ...headers, authorization },
      JSON.stringify(event),
    );
    expect(created.status).toBe(201);
    await expect
      .poll(async () => (await client.send('GET', `${events}/e`)).status, { timeout: 30_000, interval: 100 })
      .toBe(404);
    client.close();
  });

  it('finds all that was acknowledged when it is started again after a kill, ten times', async () => {
    const random = new SeededRandom(process.env['SEED'] ?? String(Date.now()));
    const headers = { 'content-type': 'application/json' };
    const acknowledged = new Map<string, string>();
    for (let round = 0; round <= 10; round++) {
      const { child, ended } = await start();
      const client = testClient(join(dir(), 'kubeconfig'));
      const list = JSON.parse((await client.send('GET', workloads)).text) as {
        items: { metadata: { name: string; uid: string; resourceVersion: string } }[];
      };
      const found = new Map(list.items.map(({ metadata }) => [metadata.name, metadata.uid]));
      for (const [name, uid] of acknowledged) expect(found.get(name), `round ${round}: ${name}`).toBe(uid);
      // The last start only looks for what was acknowledged before the tenth kill.
      const killAfter = acknowledged.size + (round < 10 ? 10 + random.integer(30) : 0);
      let isKilled = false;
      const kill = (): void => {
        isKilled = true;
        child.kill('SIGKILL');
      };
      if (acknowledged.size === killAfter) kill();
      const writers = Array.from({ length: 8 }, async (_, writer) => {
        for (let number = 0; !isKilled; number++) {
          const name = `r${round}-w${writer}-${number}`;
          const answer = await client
            .send('POST', workloads, { headers, body: workload(name) })
            .catch(() => undefined);
          if (answer === undefined) return;
          expect(answer.status).toBe(201);
          acknowledged.set(name, (JSON.parse(answer.text) as { metadata: { uid: string } }).metadata.uid);
          // Not at the acknowledgement: somewhere in the writes that are under way behind it.
          if (acknowledged.size === killAfter) setTimeout(kill, random.integer(20));
        }
      });
      await ended;
      isKilled = true;
      await Promise.all(writers);
      client.close();
    }
  }, 180_000);

  it('says in one line why it cannot start', async () => {
    const up = (...words: string[]): Promise<Ran> => run(process.execPath, [program, 'up', ...words]);
    const { child, said } = await start();
    const second = await up('--dir', dir(), '--port', '0');
    expect(second).toMatchObject({ status: 1, stdout: '' });
    expect(second.stderr).toMatch(
      new RegExp(`^error: .* in use by process ${child.pid}; one process per directory\\n$`),
    );
    const port = /:(\d+) /.exec(said)?.[1] ?? '';
    const taken = await up('--dir', join(scratch.path, 'other'), '--port', port);
    expect(taken.status).toBe(1);
    expect(taken.stderr).toMatch(
      /^error: another process listens on 127\.0\.0\.1 port \d+; choose another port[^\n]*\n$/,
    );
    expect((await up('--port', 'many')).status).toBe(64);
    expect((await up('--scheduler-shards', '0')).stderr).toContain('a whole number from 1 to 64');
    const plugin = await up('--dir', join(scratch.path, 'plugged'), '--port', '0', '--plugin', 'no-such.js');
    expect(plugin.status).toBe(64);
    expect(plugin.stderr).toBe('error: plugin no-such.js: cannot be loaded: there is no such file\n');
    expect((await up('--events-ttl', '10ms')).stderr).toContain('events are kept for 1s or longer');
    expect((await up('--history', 'long')).stderr).toContain('"long" is not a duration');
  });
});
