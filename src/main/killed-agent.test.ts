import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, readlinkSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allPids, readOr } from '../agent/process/proc.js';
import { SeededRandom } from '../env/random.js';
import { readLines } from '../model/read-lines.js';
import { fixturePath } from '../../testing/run-process.js';
import { env, RunnerHome, until } from './process-runner.fixture.js';

const rounds = 100;

let home: RunnerHome;
beforeAll(() => {
  home = new RunnerHome();
});
afterAll(() => home.close());

/** Starts a life of an agent, and gives the pid of its supervisor when it begins to act. */
async function begin(wanted: readonly string[], unwanted: readonly string[]) {
  const program = fixturePath(import.meta.url, 'runner-life.fixture.js');
  const child = spawn(process.execPath, [program, home.dir, wanted.join(','), unwanted.join(',')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  for await (const line of readLines(child.stdout)) {
    const { supervisor } = JSON.parse(line) as { supervisor: number };
    return { child, supervisor };
  }
  throw new Error('it ended before it began');
}

async function killed(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

function isBelowHome(pid: number): boolean {
  try {
    return readlinkSync(`/proc/${pid}/cwd`).startsWith(`${home.dir}/`);
  } catch {
    // It has ended meanwhile.
    return false;
  }
}

/** What really runs on this machine of our jobs, by the mark that each process of a run carries. */
function reallyRunning(): string[] {
  return allPids()
    .flatMap((pid) => {
      if (readOr(`/proc/${pid}/comm`)?.trim() !== 'sleep') return [];
      const mark = /(?:^|\0)BERTH_RUN=([^\0]*)/.exec(readOr(`/proc/${pid}/environ`) ?? '')?.[1];
      // Another such test may run on this machine.
      return mark !== undefined && isBelowHome(pid) ? [mark] : [];
    })
    .toSorted();
}

describe('an agent and its supervisor, killed at any point of starting and stopping', () => {
  it(
    `after ${rounds} kills exactly what is adopted runs, nothing was started twice, and nothing is left over`,
    {
      timeout: 600_000,
    },
    async () => {
      const random = new SeededRandom('killed-agent');
      const wanted: string[] = [];
      let unwanted: string[] = [];
      for (let round = 0; round < rounds; round++) {
        wanted.push(`job-${round}-a`, `job-${round}-b`);
        unwanted = wanted.splice(0, Math.max(0, wanted.length - 6));
        const { child, supervisor } = await begin(wanted, unwanted);
        await env.sleep(random.integer(120));
        // Now one, now the other, now both at once.
        const whom = random.integer(3);
        if (whom > 0) process.kill(supervisor, 'SIGKILL');
        await killed(child);
      }
      const runner = await home.open();
      await until('nothing is on its way', () =>
        [...runner.list()].every(({ state }) => state.at !== 'Starting'),
      );
      const adopted = [...runner.list()].flatMap((run) =>
        run.state.at === 'Running' ? [`${run.uid}/${run.execution}`] : [],
      );
      await until('what runs is what was adopted', () => {
        const there = reallyRunning();
        return there.length === adopted.length && there.join() === adopted.toSorted().join();
      });
      const began = readFileSync(`${home.dir}/began`, 'utf8').trim().split('\n');
      expect(new Set(began).size, 'each began at most once').toBe(began.length);
      expect(began.length, 'the kills left time for something').toBeGreaterThan(rounds / 2);
      for (const { uid, state } of runner.list()) if (state.at === 'Running') runner.stop(uid, 0);
      await until('all have ended', () => [...runner.list()].every(({ state }) => state.at === 'Ended'));
      expect(reallyRunning()).toEqual([]);
    },
  );
});
