import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ProcessRunner } from '../agent/drivers/process-runner.js';
import { launch, RunnerHome, shell, until } from './process-runner.fixture.js';

let home: RunnerHome;
let runner: ProcessRunner;
beforeEach(async () => {
  home = new RunnerHome();
  runner = await home.open();
});
afterEach(() => home.close());

const descriptors = (): number => readdirSync(`/proc/${runner.supervisorPid}/fd`).length;
const allowDescriptors = (most: number): void => {
  const { status } = spawnSync('prlimit', [`--pid=${runner.supervisorPid}`, `--nofile=${most}:`]);
  expect(status).toBe(0);
};

it('a start that fails leaves no descriptor behind', async () => {
  runner.start(launch('good', shell('sleep 1000')));
  await home.running('good');
  const before = descriptors();
  // Longer than the kernel takes a word.
  const word = 'x'.repeat(131_072);
  const uids = Array.from({ length: 20 }, (_, index) => `long-${index}`);
  for (const uid of uids) runner.start(launch(uid, ['/bin/true', word], { template: limited }));
  for (const uid of uids)
    expect(await home.ended(uid)).toMatchObject({ reason: 'StartFailed', message: 'spawn E2BIG' });
  // Twenty starts with several each would leave many; one or two may be open for a moment for something else.
  await until('all are closed', () => descriptors() <= before);
});

it('[S5] a supervisor that has no descriptor left goes on, and with it what it runs', async () => {
  runner.start(launch('good', shell('sleep 1000')));
  await home.running('good');
  const pid = runner.supervisorPid;
  // It gets a little further each time.
  for (let left = 0; left < 16; left++) {
    allowDescriptors(descriptors() + left);
    runner.start(launch(`few-${left}`, shell('echo said'), { template: limited }));
    await Promise.race([home.ended(`few-${left}`), home.running(`few-${left}`)]);
  }
  allowDescriptors(1_024);
  runner.start(launch('later', shell('sleep 1000')));
  await home.running('later');
  expect(runner.supervisorPid).toBe(pid);
});

const limited = { run: { process: { command: ['/bin/true'] } }, scratchLimit: '1Gi' };
