import { describe, expect, it } from 'vitest';
import { AgentTimes } from './agent-times.js';
import { HonestCell } from './honest-cell.fixture.js';

describe('[S6] a job that was asked to stop', () => {
  const killed = (...asked: readonly number[]) => {
    const checker = new AgentTimes();
    for (const machineMs of asked) checker.noteStopAsked({ uid: 'job', machineMs }, 8_000);
    return (machineMs: number) => checker.noteKill({ uid: 'job', machineMs }).map(({ message }) => message);
  };

  it('is killed when its grace is over, neither earlier nor much later', () => {
    expect(killed(1_000)(9_000)).toEqual([]);
    expect(killed(1_000)(9_200)).toEqual([]);
    expect(killed(1_000)(8_200)[0]).toContain(
      'killed 7200 ms after it was asked to stop; its grace is 8000 ms',
    );
    expect(killed(1_000)(9_800)).toHaveLength(1);
  });

  it('gets its grace again when it is asked again; one that nobody asked has none', () => {
    expect(killed(1_000, 3_000)(11_000)).toEqual([]);
    expect(killed(1_000, 3_000)(9_000)).toHaveLength(1);
    expect(killed()(5)).toEqual([]);
  });

  it('is forgotten with its supervisor', () => {
    const checker = new AgentTimes();
    checker.noteStopAsked({ uid: 'job', machineMs: 1 }, 8_000);
    checker.forget('job');
    expect(checker.noteKill({ uid: 'job', machineMs: 2 })).toEqual([]);
  });
});

describe('[S6] an agent', () => {
  const fails = (seconds: number, restarts = false): readonly string[] => {
    const cell = new HonestCell([new AgentTimes()]).settled();
    const name = cell.incarnate('web');
    cell.bind(name, 'n1');
    cell.nowMs += 1_000;
    cell.move(name, 'Starting', 'agent:n1');
    if (restarts) {
      cell.move(name, 'Ready', 'agent:n1');
      cell.nowMs += 200_000;
      cell.move(name, 'Starting', 'agent:n1');
    }
    cell.nowMs += seconds * 1_000 - 1_000;
    cell.move(name, 'Failed', 'agent:n1', {}, { reason: 'StartDeadlinePassed' });
    return cell.messages;
  };

  it('fails what is not ready within its start deadline, counted from when the replica was bound', () => {
    expect(fails(298)).toEqual([]);
    expect(fails(297)[0]).toMatch(/failed for its start deadline after 299000 ms, not 300000: too early/);
  });

  it('counts anew when a replica that was ready is started again', () => {
    expect(fails(300, true)).toEqual([]);
    expect(fails(150, true)).toHaveLength(1);
  });
});
