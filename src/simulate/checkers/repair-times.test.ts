import { describe, expect, it } from 'vitest';
import type { ReplicaStatus } from '../../model/kinds/replica.js';
import type { Stage } from '../../model/stages.js';
import { nodeLeaseName } from '../../model/records.js';
import { HonestCell } from './honest-cell.fixture.js';
import { RepairTimes } from './repair-times.js';

const all = ['repair-controller', nodeLeaseName('n1'), nodeLeaseName('n2')];
const repair = 'repair-controller';

/** A cell with a replica that has just been bound to n1. */
function boundCell() {
  const cell = new HonestCell([new RepairTimes()]).settled();
  const name = cell.incarnate('web');
  cell.bind(name, 'n1');
  return { cell, name };
}

/** Calls a replica Unknown after `seconds` at a stage, and returns what the checker finds. */
function called(stage: Stage, reason: string, seconds: number): readonly string[] {
  const { cell, name } = boundCell();
  if (stage !== 'Bound') cell.move(name, stage, 'agent:n1');
  cell.pass(seconds - 1, all);
  cell.move(name, 'Unknown', repair, {}, { reason });
  return cell.messages;
}

const remark = (reason: string): Partial<ReplicaStatus> => ({
  conditions: [
    { type: 'NeedsHuman', status: 'True', reason, message: '', lastTransitionTime: '2026-01-31T13:05:00Z' },
  ],
});

describe('[S6] repair concludes from the duration of a stage', () => {
  it.each<[Stage, string, number]>([
    ['Bound', 'StartDeadlinePassed', 300],
    ['Starting', 'StartOverdue', 330],
    ['Releasing', 'StopOverdue', 38],
  ])('%s: %s after %i s, and not earlier', (stage, reason, seconds) => {
    expect(called(stage, reason, seconds)).toEqual([]);
    expect(called(stage, reason, seconds - 2)[0]).toContain(`was called Unknown (${reason}) after`);
  });

  it('under one leader', () => {
    const { cell, name } = boundCell();
    cell.pass(200, all);
    cell.transact('server-1', (draft) =>
      draft.change<{ epoch: object }>('/l/repair-controller', (lease) => ({
        ...lease,
        epoch: { cell: 1, number: 2 },
      })),
    );
    cell.pass(200, all);
    cell.move(name, 'Unknown', repair, {}, { reason: 'StartDeadlinePassed' });
    expect(cell.messages).toHaveLength(1);
  });
});

describe('[S6] repair asks', () => {
  const intent = { actor: repair, reason: 'NoReport', operation: 'stop', at: '' } as const;

  it('an agent to stop what it says nothing about, a minute after its node is back', () => {
    const asked = (seconds: number): readonly string[] => {
      const { cell, name } = boundCell();
      cell.move(name, 'Unknown', repair, {}, { reason: 'LeaseExpired' });
      cell.pass(100, [repair]);
      cell.pass(seconds, all);
      cell.move(name, 'Releasing', repair, { intent }, { reason: 'NoReport' });
      return cell.messages;
    };
    expect(asked(65)).toEqual([]);
    expect(asked(50)[0]).toContain('was asked to stop because nothing was reported after');
  });

  it('for a human when a node is silent for as long as its workload and the fence say', () => {
    const told = (seconds: number): readonly string[] => {
      const { cell, name } = boundCell();
      cell.move(name, 'Unknown', repair, {}, { reason: 'LeaseExpired' });
      cell.pass(seconds, [repair]);
      cell.move(name, 'Unknown', repair, remark('NodeSilent'), { reason: 'Because' });
      return cell.messages;
    };
    expect(told(140)).toEqual([]);
    expect(told(100)[0]).toContain('asked for a human after');
  });
});
