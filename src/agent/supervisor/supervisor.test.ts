import { describe, expect, it } from 'vitest';
import { plusMs } from '../../env/instant.js';
import { VirtualTime } from '../../env/virtual.js';
import type { RunnerEvent } from '../runner.js';
import { FakeJournal, FakeMachine } from './fake-machine.fixture.js';
import type { RunSpec } from './machine.js';
import { pastRuns } from './past-runs.js';
import { Supervisor } from './supervisor.js';

const spec = (uid: string, more: Partial<RunSpec> = {}): RunSpec => ({
  ...{ uid, execution: 1, isFenced: false, command: ['work'], env: {}, limits: {} },
  labels: { tenant: 't', workload: 'w', replica: uid, uid, slot: '0', execution: 1, node: 'n' },
  ...more,
});

function setUp() {
  const time = new VirtualTime({ seed: 1 });
  const computer = time.machine('node');
  const { env } = computer;
  const { env: elsewhere } = time.machine('elsewhere');
  const machine = new FakeMachine();
  const journal = new FakeJournal();
  const events: RunnerEvent[] = [];
  const supervise = (): Supervisor =>
    new Supervisor(
      { machine, journal, env, onEvent: (event) => events.push(event) },
      pastRuns(journal.entries).values(),
    );
  const permit = (overMs: number) => {
    const overAt = plusMs(env.clock.boot(), overMs);
    return { startUntil: plusMs(overAt, -10_000), killAt: plusMs(overAt, -2_000), overAt };
  };
  const told = (): string[] =>
    events.map((event) =>
      event.kind === 'Ended' ? `${event.uid} ${event.end.reason}` : `${event.uid} ${event.kind}`,
    );
  const run = async (ms: number): Promise<void> => {
    // Time passes also if nothing happens in it.
    elsewhere.after(ms, () => undefined);
    await time.run(time.nowMs + ms);
  };
  return { computer, machine, journal, events, supervise, permit, told, run };
}

describe('a supervisor', () => {
  it('lets a job begin only after it is written down as running', () => {
    const { machine, journal, supervise, told } = setUp();
    const supervisor = supervise();
    journal.isSlow = true;
    supervisor.start(spec('a'));
    expect(journal.entries).toEqual([]);
    machine.gate('a');
    expect(journal.entries).toMatchObject([{ kind: 'opened', identity: { pid: 101 } }]);
    expect(machine.processes.get('a')?.isOpen).toBe(false);
    journal.flush();
    expect(machine.processes.get('a')?.isOpen).toBe(true);
    expect(told()).toEqual(['a Running']);
  });

  it('starts nothing that cannot be written down', () => {
    const { machine, journal, supervise, events } = setUp();
    journal.isSlow = true;
    supervise().start(spec('a'));
    machine.gate('a');
    journal.flush('ENOSPC: no space left on device');
    expect(machine.processes.size).toBe(0);
    expect(events).toMatchObject([
      { end: { message: 'it could not be written down: ENOSPC: no space left on device' } },
    ]);
  });

  it('a successor knows all that runs, starts none of it again, and says that it does not know how it ended', () => {
    const { machine, supervise, told, events } = setUp();
    const first = supervise();
    for (const uid of ['runs', 'ends', 'gates']) first.start(spec(uid));
    machine.gate('runs');
    machine.gate('ends');
    machine.exit('ends', { exitCode: 3 });
    machine.supervisorDies();
    events.length = 0;
    const second = supervise();
    expect(second.list().map(({ uid, state }) => [uid, state.at])).toEqual([
      ['runs', 'Running'],
      ['ends', 'Ended'],
    ]);
    second.start(spec('runs'));
    second.start(spec('ends'));
    // It never began: nothing was written down, and it may be started.
    second.start(spec('gates'));
    expect([...machine.processes.keys()]).toEqual(['runs', 'gates']);
    machine.exit('runs', {});
    expect(told()).toEqual(['runs ExitUnknown']);
  });

  it('asks, and kills when the grace is over', async () => {
    const { machine, supervise, run, told } = setUp();
    const supervisor = supervise();
    supervisor.start(spec('a'));
    machine.gate('a');
    supervisor.stop('a', 8);
    expect(machine.processes.get('a')?.isTerminated).toBe(true);
    await run(7_900);
    expect(machine.killed).toEqual([]);
    await run(200);
    expect(machine.killed).toEqual(['a']);
    expect(told()).toEqual(['a Running', 'a Stopped']);
  });

  it('what is stopped at its gate never begins', () => {
    const { machine, journal, supervise, told } = setUp();
    const supervisor = supervise();
    journal.isSlow = true;
    supervisor.start(spec('a'));
    machine.gate('a');
    supervisor.stop('a', 8);
    journal.flush();
    expect(machine.processes.size).toBe(0);
    expect(told()).toEqual(['a Stopped']);
  });

  it('forgets what has ended, and only that', () => {
    const { machine, journal, supervise } = setUp();
    const supervisor = supervise();
    supervisor.start(spec('a'));
    machine.gate('a');
    supervisor.forget('a');
    expect(supervisor.list()).toHaveLength(1);
    machine.exit('a', { exitCode: 0 });
    supervisor.forget('a');
    expect(supervisor.list()).toEqual([]);
    expect(pastRuns(journal.entries).size).toBe(0);
    expect(machine.forgotten).toEqual(['a']);
  });

  it('ends everything when it is told to end', async () => {
    const { machine, supervise, run } = setUp();
    const supervisor = supervise();
    for (const uid of ['a', 'b']) {
      supervisor.start(spec(uid));
      machine.gate(uid);
    }
    let isOver = false;
    void supervisor.endAll(5).then(() => (isOver = true));
    await run(4_000);
    expect(isOver).toBe(false);
    await run(2_000);
    expect([isOver, supervisor.liveCount]).toEqual([true, 0]);
  });

  it('starts nothing any more when it is told to end: its successor is asked for it', async () => {
    const { machine, supervise, run, told } = setUp();
    const supervisor = supervise();
    for (const uid of ['quick', 'slow']) {
      supervisor.start(spec(uid));
      machine.gate(uid);
    }
    const ended = supervisor.endAll(5);
    machine.exit('quick', { exitCode: 0 });
    // As an agent does that finds it stopped.
    supervisor.start(spec('quick', { execution: 2 }));
    machine.gate('quick');
    await run(6_000);
    await ended;
    expect(supervisor.liveCount).toBe(0);
    expect(told().filter((word) => word.startsWith('quick'))).toEqual(['quick Running', 'quick Stopped']);
  });
});

describe('[S5] the fence', () => {
  it('kills at s+D−κ unless a later permit came before', async () => {
    const { machine, supervise, permit, run, events } = setUp();
    const supervisor = supervise();
    supervisor.permit(permit(120_000));
    supervisor.start(spec('a', { isFenced: true }));
    supervisor.start(spec('b'));
    machine.gate('a');
    machine.gate('b');
    await run(100_000);
    supervisor.permit(permit(120_000));
    await run(117_500);
    expect(machine.killed).toEqual([]);
    await run(600);
    expect(machine.killed).toEqual(['a']);
    expect(events.at(-1)).toMatchObject({
      end: { reason: 'Fenced', message: 'no renewal permitted it any more' },
    });
  });

  it('starts nothing from s+D−G on, not even what waits at its gate then', async () => {
    const { machine, journal, supervise, permit, run, told } = setUp();
    const supervisor = supervise();
    supervisor.start(spec('early', { isFenced: true }));
    supervisor.permit(permit(20_000));
    journal.isSlow = true;
    supervisor.start(spec('slow', { isFenced: true }));
    machine.gate('slow');
    await run(10_000);
    supervisor.start(spec('late', { isFenced: true }));
    journal.flush();
    expect(told()).toEqual(['early StartFailed', 'late StartFailed', 'slow StartFailed']);
    expect(machine.processes.size).toBe(0);
  });

  it('a permit that comes after the last one was over does not save what ran on: it is an overrun', async () => {
    const { computer, machine, supervise, permit, run, events } = setUp();
    const supervisor = supervise();
    supervisor.permit(permit(120_000));
    supervisor.start(spec('a', { isFenced: true }));
    machine.gate('a');
    // The machine is suspended, wakes up after the permit, and the agent is quicker than any timer.
    computer.suspend(300_000);
    await run(300_000);
    supervisor.permit(permit(120_000));
    expect(machine.killed).toEqual(['a']);
    expect(events.at(-1)).toMatchObject({ end: { reason: 'Fenced', overrunMs: 180_000 } });
  });

  it('a machine that cannot fence is not given fenced work', () => {
    const { machine, supervise, permit, events } = setUp();
    machine.canFence = false;
    const supervisor = supervise();
    supervisor.permit(permit(120_000));
    supervisor.start(spec('a', { isFenced: true }));
    expect(events).toMatchObject([{ end: { message: 'FenceUnsupported: this machine cannot fence it' } }]);
  });

  it('ends with its supervisor; a successor that still finds it ends it before it says so', () => {
    const { machine, supervise, permit, told } = setUp();
    const first = supervise();
    first.permit(permit(120_000));
    first.start(spec('a', { isFenced: true }));
    first.start(spec('b', { isFenced: true }));
    machine.gate('a');
    machine.gate('b');
    // The kernel was slow with one of them.
    machine.processes.delete('a');
    supervise();
    expect(machine.processes.size).toBe(0);
    expect(told().slice(2)).toEqual(['a ExitUnknown', 'b ExitUnknown']);
  });
});
