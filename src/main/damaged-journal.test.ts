import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ProcessRunner } from '../agent/drivers/process-runner.js';
import { launch, RunnerHome, shell, until } from './process-runner.fixture.js';

let home: RunnerHome;
const orphans: number[] = [];
beforeEach(() => {
  home = new RunnerHome();
});
afterEach(async () => {
  for (const pid of orphans.splice(0)) if (isThere(pid)) process.kill(pid, 'SIGKILL');
  await home.close();
});

function isThere(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
  } catch {
    return false;
  }
}

/** Does something to what the supervisor has written down, and kills it. */
async function damage({ supervisorPid = 0 }: ProcessRunner, change: (text: string) => string): Promise<void> {
  const path = join(home.dir, 'supervisor/journal');
  writeFileSync(path, change(readFileSync(path, 'utf8')));
  process.kill(supervisorPid, 'SIGKILL');
  await until('the supervisor is gone', () => (isThere(supervisorPid) ? undefined : true));
}

const spoilt = (uid: string) => (text: string) =>
  text
    .split('\n')
    .map((line) => (line.includes(`"uid":"${uid}"`) ? line.replace('{', '\u0000') : line))
    .join('\n');

describe('[S5] a supervisor whose journal is damaged', () => {
  it('says so, has another journal, and ends what it knows nothing of before it tells what there is', async () => {
    const runner = await home.open();
    for (const uid of ['a', 'b']) runner.start(launch(uid, shell('sleep 1000')));
    const pids = [await home.running('a'), await home.running('b')] as const;
    orphans.push(...pids);
    await runner.close();
    await damage(runner, spoilt('a'));
    const next = await home.open();
    expect([...next.list()].map(({ uid }) => uid)).toEqual(['b']);
    expect(next.journal).not.toBe(runner.journal);
    expect(home.problems.join()).toMatch(/journal is damaged: 1 of \d lines/);
    // Without control groups nobody knows what there is to end.
    expect(pids.map(isThere)).toEqual([next.unenforced.includes('pids'), true]);
  });

  it('goes on although a line says nothing', async () => {
    const runner = await home.open();
    runner.start(launch('a', shell('sleep 1000')));
    orphans.push(await home.running('a'));
    await runner.close();
    await damage(runner, (text) => `${text}null\n`);
    expect([...(await home.open()).list()].map(({ uid }) => uid)).toEqual(['a']);
  });

  it('is met by an agent that lives on: that is told to end, and nobody that anything has', async () => {
    const runner = await home.open();
    runner.start(launch('a', shell('sleep 1000')));
    orphans.push(await home.running('a'));
    await damage(runner, spoilt('a'));
    await until('it is told', () => (home.journalsLost > 0 ? true : undefined));
    expect(home.events.filter(({ kind }) => kind === 'Ended')).toEqual([]);
  });
});
