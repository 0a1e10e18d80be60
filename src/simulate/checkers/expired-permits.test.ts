import { beforeEach, describe, expect, it } from 'vitest';
import { fenceContract } from '../../model/fence-contract.js';
import { ExpiredPermits } from './expired-permits.js';
import { HonestCell } from './honest-cell.fixture.js';

const { permitSeconds, graceSeconds, stallSecondsMax } = fenceContract;

/** A cell with a fenced replica that is bound to n1; the clock of the machine is the test's own. */
class FencedCell extends HonestCell {
  readonly permits: ExpiredPermits;
  readonly name: string;
  machineMs = 0;

  constructor(permits = new ExpiredPermits()) {
    super([permits]);
    this.permits = permits;
    this.settled();
    this.name = this.incarnate('once');
    this.bind(this.name, 'n1');
    permits.noteMachine('n1', 'n1');
  }

  permit(machine = 'n1'): void {
    const overMs = this.machineMs + permitSeconds * 1_000;
    this.permits.notePermit(machine, () => overMs - this.machineMs);
  }

  runs(running: boolean, machine = 'n1'): readonly string[] {
    return this.permits
      .noteExecution({
        ...{
          tenant: 'shop',
          workload: 'once',
          slot: '0',
          uid: `uid-${this.name}`,
          running,
          atMs: this.nowMs,
        },
        fencedOn: machine,
      })
      .map(({ message }) => message);
  }

  release(proof: string, actor = 'repair-controller'): readonly string[] {
    this.move(this.name, 'Released', actor, {}, { evidence: { proof } });
    return this.messages;
  }
}

describe('[S5] a release by expiry', () => {
  let cell: FencedCell;
  beforeEach(() => {
    cell = new FencedCell();
    cell.permit();
    cell.runs(true);
  });

  it.each(['FenceExpired', 'JournalExpired'])(
    '%s is right once the permit is over and nothing runs',
    (proof) => {
      cell.machineMs = permitSeconds * 1_000;
      cell.runs(false);
      expect(cell.release(proof)).toEqual([]);
      expect(cell.permits.checked).toBe(3);
    },
  );

  it('is noticed while the supervisor may still run the replica, although it runs nothing', () => {
    cell.machineMs = (permitSeconds - 3) * 1_000;
    cell.runs(false);
    expect(cell.release('FenceExpired')).toEqual([
      expect.stringMatching(
        /was released by FenceExpired, and the supervisor of n1 may run it for 3000 ms more/,
      ),
    ]);
  });

  it('is noticed while the replica runs, whatever the proof is', () => {
    cell.machineMs = 2 * permitSeconds * 1_000;
    expect(cell.release('Attested')).toEqual([expect.stringMatching(/and uid-once-0-1 still runs/)]);
  });

  it('by another journal asks about the machine that ran the replica, not about the one that has its name now', () => {
    cell.permits.noteMachine('n1', 'n1-anew');
    cell.machineMs = permitSeconds * 1_000;
    cell.runs(false);
    cell.permit('n1-anew');
    expect(cell.release('JournalExpired')).toEqual([]);
  });

  it('of a replica that never ran asks about every machine of its node', () => {
    const never = new FencedCell();
    never.permit();
    expect(never.release('FenceExpired')).toHaveLength(1);
  });

  it('is none when the agent reports a stop', () => {
    expect(cell.release('FenceExpired', 'agent:n1')).toEqual([]);
  });
});

describe('[S5] a supervisor', () => {
  it('starts nothing fenced without a permit, or from s+D−G on', () => {
    const cell = new FencedCell();
    expect(cell.runs(true)).toHaveLength(1);
    cell.permit();
    cell.machineMs = (permitSeconds - graceSeconds) * 1_000 - 1;
    expect(cell.runs(true)).toEqual([]);
    cell.machineMs += 2;
    expect(cell.runs(true)[0]).toContain('n1 started uid-once-0-1 9999 ms before its permit ends');
  });

  it('has ended what is fenced by s+D+σ', () => {
    const cell = new FencedCell();
    cell.permit();
    cell.runs(true);
    cell.runs(true);
    cell.machineMs = (permitSeconds + stallSecondsMax) * 1_000;
    expect(cell.runs(false)).toEqual([]);
    cell.machineMs += 50;
    expect(cell.runs(false)[0]).toContain('5050 ms after its permit was over');
  });
});
