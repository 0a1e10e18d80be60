import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { scratchDirectory } from '../../../testing/scratch.js';
import { realEnv } from '../../env/real.js';
import { KeptLogs } from '../logs/kept-logs.js';
import type { Launch, RunnerEvent } from '../runner.js';
import { ContainerRunner } from './container-runner.js';

const env = realEnv();
const soon = { timeout: 60_000, interval: 50 };
let scratch: ReturnType<typeof scratchDirectory>;
let engine: Server;
let starts = 0;
let listed: readonly object[];
/** How often the engine loses its connection when it is asked to start, and whether it has started it before. */
let lost: { times: number; isStarted: boolean };

beforeEach(async () => {
  scratch = scratchDirectory('container-start');
  starts = 0;
  listed = [];
  engine = createServer(({ url = '', method }, response) => {
    const [path = ''] = url.replace('/v1.41', '').split('?');
    const say = (value: unknown): void => void response.end(JSON.stringify(value));
    if (path === '/containers/json') return say(listed);
    if (path === '/containers/create') return say({ Id: 'c1' });
    if (path.startsWith('/images/')) return say({ Id: 'sha256:1' });
    if (path === '/containers/c1/json')
      return say({ State: { Status: starts > 0 ? 'running' : 'created', Running: starts > 0, ExitCode: 0 } });
    // Until it ends, which it does not.
    if (path.endsWith('/wait') || path.endsWith('/logs')) return;
    if (path.endsWith('/start') && method === 'POST') {
      const isLost = lost.times > 0;
      lost.times -= 1;
      if (!isLost || lost.isStarted) starts += 1;
      if (isLost) return void response.destroy();
    }
    say({});
  });
  await comes();
});
afterEach(async () => {
  await goes();
  scratch.remove();
});

const comes = (): Promise<void> =>
  new Promise<void>((resolve) => engine.listen(join(scratch.path, 'engine.sock'), resolve));
const goes = (): Promise<void> => {
  engine.closeAllConnections();
  return new Promise((resolve) => engine.close(() => resolve()));
};
const parts = (): Parameters<typeof ContainerRunner.open>[0] => ({
  ...{ socketPath: join(scratch.path, 'engine.sock'), node: 'n', agent: 'a', env },
  logs: new KeptLogs({ dir: join(scratch.path, 'logs'), env, isLive: () => true }),
  onProblem: () => undefined,
});

const launch: Launch = {
  binding: {
    ...{ replica: { tenant: 't', name: 'r', uid: 'u' }, workload: 'w', slot: '0', revision: 'w-r1' },
    ...{ fence: '7', type: 'Service', isFenced: false, stage: 'Bound', version: 10 },
    template: { run: { container: { image: 'app:1' } } },
  },
  ...{ execution: 1, command: undefined, args: undefined, env: {} },
};

it.each([
  ['has done it', { times: 1, isStarted: true }],
  ['has not done it', { times: 2, isStarted: false }],
])('an engine that is asked to start a container and gives no answer, but %s', async (_, how) => {
  lost = how;
  const events: RunnerEvent[] = [];
  const runner = await ContainerRunner.open(parts());
  runner.attach((event) => events.push(event));
  runner.start(launch);
  await vi.waitFor(() => expect(events.map(({ kind }) => kind)).toContain('Running'), soon);
  expect(events.map(({ kind }) => kind)).not.toContain('Ended');
  expect(starts).toBe(1);
  await runner.close();
});

it('an engine that is away when a container is to be started is asked again', async () => {
  lost = { times: 0, isStarted: false };
  const events: RunnerEvent[] = [];
  const runner = await ContainerRunner.open(parts());
  runner.attach((event) => events.push(event));
  await goes();
  runner.start(launch);
  const steps = () => events.flatMap((event) => (event.kind === 'Step' ? [event.step] : []));
  await vi.waitFor(() => expect(steps()).toContain('AwaitingEngine'), soon);
  await comes();
  await vi.waitFor(() => expect(events.map(({ kind }) => kind)).toContain('Running'), soon);
  expect(events.map(({ kind }) => kind)).not.toContain('Ended');
  await runner.close();
});

it('one that is asked to stop before its engine has answered has stopped: it was never made', async () => {
  const events: RunnerEvent[] = [];
  const runner = await ContainerRunner.open(parts());
  runner.attach((event) => events.push(event));
  await goes();
  runner.start(launch);
  runner.stop('u', 1);
  await vi.waitFor(() => expect(events.at(-1)).toMatchObject({ end: { reason: 'Stopped' } }), soon);
  expect(starts).toBe(0);
  await runner.close();
  await comes();
});

it('[S5] what an engine has that was away at first is known when it answers, and not before', async () => {
  starts = 1;
  const words = { uid: 'u', execution: '1', tenant: 't', workload: 'w', replica: 'r', slot: '0' };
  const labels = Object.entries(words).map(([word, value]) => [`dev.berth.${word}`, value]);
  listed = [{ Id: 'c1', Labels: Object.fromEntries(labels) as object }];
  await goes();
  const runner = ContainerRunner.await(parts());
  const isAwaiting = async () =>
    (await Promise.race([runner.awaiting, env.sleep(100).then(() => 'still')])) === 'still';
  expect(await isAwaiting()).toBe(true);
  await comes();
  await runner.awaiting;
  expect(runner.awaiting).toBeUndefined();
  expect([...runner.list()]).toMatchObject([{ uid: 'u', state: { at: 'Running' } }]);
  await runner.close();
});
