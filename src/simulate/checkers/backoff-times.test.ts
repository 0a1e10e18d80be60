import { describe, expect, it } from 'vitest';
import { BackoffTimes } from './backoff-times.js';
import { HonestCell, replicaKey } from './honest-cell.fixture.js';

/** Ends a replica, makes the next one of its slot after `afterMs`, and returns what the checker finds. */
function found(end: 'Failed' | 'Released', failures: number, afterMs: number): readonly string[] {
  const cell = new HonestCell([new BackoffTimes()]).settled();
  const name = cell.incarnate('web');
  cell.run(name, 'n1');
  cell.move(name, end, 'agent:n1');
  cell.nowMs += afterMs - 1_000;
  cell.altering((draft) =>
    draft.change<{ status: { transitions: readonly object[] } }>(replicaKey('web-0-2'), ({ status }) => ({
      status: {
        ...status,
        transitions: status.transitions.map((transition) => ({
          ...transition,
          ...{ reason: 'Replaces', evidence: { failuresBefore: String(failures) } },
        })),
      },
    })),
  );
  cell.incarnate('web', '0', 2);
  return cell.messages;
}

describe('[S6] the next replica of a slot', () => {
  it.each([
    [1, 1_000],
    [2, 2_000],
    [5, 16_000],
    [30, 300_000],
  ])('is made after %i failures in a row %i ms later at the earliest', (failures, ms) => {
    expect(found('Failed', failures, ms)).toEqual([]);
    expect(found('Failed', failures, ms * 0.9)[0]).toMatch(/failures in a row after \d+ ms, not/);
  });

  it('need not wait if none has failed, or the last one was released', () => {
    expect(found('Failed', 0, 1)).toEqual([]);
    expect(found('Released', 3, 1)).toEqual([]);
  });
});
