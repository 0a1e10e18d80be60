import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { scratchDirectory } from '../../testing/scratch.js';
import { VirtualTime } from '../env/virtual.js';
import type { StreamReport } from '../model/node-stream.js';
import { usualProfile } from './drivers/hollow-profile.js';
import { HollowDriver } from './drivers/hollow.js';
import { Jobs } from './jobs.js';
import { MemoryRefusals, RefusalFile, type Refusals } from './refusals.js';
import { binding } from './session.fixture.js';
import { Wheel } from './wheel.js';

/** One life of an agent, as far as its jobs go. */
function live(refusals: Refusals) {
  const time = new VirtualTime({ seed: 1 });
  const { env } = time.machine('node');
  const wheel = new Wheel(env);
  const driver = new HollowDriver({
    ...{ profile: usualProfile, wheel, env, random: env.random, believesTold: false },
  });
  const said: StreamReport[] = [];
  const jobs = new Jobs({
    ...{ driver, refusals, wheel, env, graceSeconds: 8, mayStart: () => true, isInJournal: () => true },
    ...{ isHeard: () => true, isOpen: () => true },
    send: (report) => said.push(report),
  });
  driver.attach((event) => jobs.happened(event));
  const tell = (...bindings: ReturnType<typeof binding>[]): void =>
    jobs.told({ kind: 'bindings', begins: true, ends: true, bindings, gone: [] });
  const run = (ms: number) => time.run(time.nowMs + ms);
  return { tell, driver, run, said: () => said.map(({ stage, reason }) => `${stage} ${reason}`) };
}

describe('a replica that is told to stop before it was started', () => {
  it('is said to have stopped only after it is written down that it will never start', () => {
    const kept: (() => void)[] = [];
    const { tell, said } = live({
      ...{ has: () => false, delete: () => undefined },
      add: (_, onKept) => void kept.push(onKept),
    });
    tell(binding('a', { stage: 'Releasing' }));
    expect(said()).toEqual([]);
    for (const onKept of kept) onKept();
    expect(said()).toEqual(['Released NotRunning']);
  });

  it('[L4] is refused when the disk takes it again: writing that down is tried with pauses that grow', async () => {
    let isFull = true;
    let asked = 0;
    const { tell, said, run } = live({
      ...{ has: () => false, delete: () => undefined },
      add: (_, onDone) => {
        asked += 1;
        onDone(isFull ? 'no space left' : undefined);
      },
    });
    tell(binding('a', { stage: 'Releasing' }));
    await run(60_000);
    expect(said()).toEqual([]);
    expect(asked).toBeGreaterThan(5);
    expect(asked).toBeLessThan(20);
    isFull = false;
    await run(20_000);
    expect(said()).toEqual(['Released NotRunning']);
  });

  it('is not started by a later life of the agent, whoever says that it is bound', () => {
    const refusals = new MemoryRefusals();
    live(refusals).tell(binding('a', { stage: 'Releasing' }));
    const later = live(refusals);
    later.tell(binding('a', { stage: 'Bound' }));
    expect([...later.driver.list()]).toEqual([]);
    expect(later.said()).toEqual(['Failed NotRunning']);
    // Nobody knows it any more.
    later.tell();
    expect(refusals.has('a')).toBe(false);
  });

  it('is refused for good: the file says so after the agent was killed', async () => {
    const scratch = scratchDirectory('refusals');
    const path = join(scratch.path, 'refused');
    const open = (): RefusalFile =>
      new RefusalFile(
        path,
        () => 'id',
        (problem) => {
          throw new Error(problem);
        },
      );
    const first = open();
    for (const uid of ['a', 'b']) await new Promise<void>((resolve) => first.add(uid, () => resolve()));
    first.delete('b');
    await new Promise<void>((resolve) => first.add('c', () => resolve()));
    const second = open();
    expect(['a', 'b', 'c'].map((uid) => second.has(uid))).toEqual([true, false, true]);
    first.close();
    second.close();
    scratch.remove();
  });

  it('while many reports wait for an answer, what is bound is started all the same', () => {
    const { tell, driver, said } = live(new MemoryRefusals());
    tell(...Array.from({ length: 50 }, (_, index) => binding(`r${index}`)));
    expect([...driver.list()]).toHaveLength(50);
    expect(said()).toHaveLength(48);
  });
});
