import { describe, expect, it } from 'vitest';
import { objectKey } from '../../model/records.js';
import { HonestCell } from './honest-cell.fixture.js';
import { TrafficTimes } from './traffic-times.js';

const enters = { reason: 'ReadyLongEnough' };

/** A replica that has just become Ready, and serves after ten seconds of that. */
function readyCell() {
  const cell = new HonestCell([new TrafficTimes()]).settled();
  cell.transact('user', (draft) =>
    draft.change<{ spec: { template: object } }>(objectKey('WorkloadRevision', 'shop', 'web-1'), (one) => ({
      ...one,
      spec: { ...one.spec, template: { ...one.spec.template, minReadySeconds: 10 } },
    })),
  );
  const name = cell.incarnate('web');
  cell.run(name, 'n1');
  return { cell, name };
}

describe('[S6] a replica serves', () => {
  it('after it was Ready for as long as its template says', () => {
    for (const [seconds, count] of [
      [10, 0],
      [9, 1],
    ] as const) {
      const { cell, name } = readyCell();
      cell.nowMs += seconds * 1_000 - 1_000;
      cell.move(name, 'Serving', 'endpoints-controller', {}, enters);
      expect(cell.messages).toHaveLength(count);
    }
  });

  it('counted anew when its probe has failed meanwhile; at once if it is still listed', () => {
    const { cell, name } = readyCell();
    cell.nowMs += 9_000;
    for (const isPassing of [false, true]) cell.move(name, 'Ready', 'agent:n1', { readiness: { isPassing } });
    cell.move(name, 'Serving', 'endpoints-controller', {}, enters);
    expect(cell.messages[0]).toMatch(/was called Serving after 1000 ms, not 9990/);
    const listed = readyCell();
    listed.cell.move(listed.name, 'Ready', 'agent:n1', { isListed: true });
    listed.cell.move(listed.name, 'Serving', 'endpoints-controller', {}, enters);
    expect(listed.cell.messages).toEqual([]);
  });

  it('whenever a rival says so that gives another reason', () => {
    const { cell, name } = readyCell();
    cell.move(name, 'Serving', 'endpoints-controller', {}, { reason: 'Meddling' });
    expect(cell.messages).toEqual([]);
  });
});
