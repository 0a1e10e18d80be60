import { describe, expect, it } from 'vitest';
import { withdrawWaitMs } from '../../model/withdrawal.js';
import { HonestCell } from './honest-cell.fixture.js';
import { Traffic } from './traffic.js';

function servingCell() {
  const checker = new Traffic();
  const cell = new HonestCell([checker]).settled();
  cell.workload('gpu');
  const name = cell.incarnate('gpu');
  cell.run(name, 'n1');
  cell.move(name, 'Serving', 'endpoints-controller', { isListed: true });
  return { checker, cell, name };
}

describe('[S6] the order of traffic and stops', () => {
  it('a replica that was withdrawn is not listed', () => {
    const { cell, name } = servingCell();
    cell.list(name);
    expect(cell.violations).toEqual([]);
    cell.publish(name, true, false);
    expect(cell.violations).toMatchObject([
      { rule: 'S6', message: `/s/Endpoints/shop/gpu lists ${name}, which was withdrawn (Serving)` },
    ]);
    expect(cell.whole()).toHaveLength(1);
  });

  it('a replica is asked to stop once it has left the endpoints, or when the wait is over', () => {
    const { checker, cell, name } = servingCell();
    cell.list(name);
    cell.move(name, 'Releasing', 'user');
    const ref = { tenant: 'shop', name, uid: `uid-${name}` };
    const askedAtMs = checker.askedAtMs(ref.uid) ?? Number.NaN;
    expect(checker.noteStop(ref, askedAtMs + 1_000)).toHaveLength(1);
    expect(checker.noteStop(ref, askedAtMs + withdrawWaitMs)).toEqual([]);
    cell.unlist(name);
    expect(checker.noteStop(ref, askedAtMs + 1_000)).toEqual([]);
    expect(checker.checked).toBeGreaterThan(0);
  });
});
