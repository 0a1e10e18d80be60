import { describe, expect, it } from 'vitest';
import { HonestCell } from './honest-cell.fixture.js';
import { VoluntaryMoves } from './voluntary-moves.js';

/** Four replicas of `api` serve on n1 and n2; two of them may be away. */
function serving(type = 'Service'): HonestCell {
  const cell = new HonestCell([new VoluntaryMoves()]).settled();
  says(cell, 2, type);
  cell.template('api', 1, { resources: { cpu: '500m' } });
  for (const slot of ['0', '1', '2', '3']) {
    const name = cell.incarnate('api', slot);
    cell.run(name, Number(slot) < 2 ? 'n1' : 'n2');
    cell.move(name, 'Serving', 'endpoints-controller');
  }
  return cell;
}

const says = (cell: HonestCell, maxUnavailable: number, type = 'Service'): void =>
  cell.object('user-ann', 'Workload', 'shop', 'api', { type, replicas: 4, disruption: { maxUnavailable } });

const loses = (cell: HonestCell, name: string): void => cell.move(name, 'Unknown', 'repair-controller');

describe('[S6] a drain asks a serving replica to leave', () => {
  it('while fewer are away than may be, lost ones and its own moves counted', () => {
    const cell = serving();
    loses(cell, 'api-0-1');
    cell.drain('api-2-1');
    expect(cell.violations).toEqual([]);
    expect(cell.checkers[0]?.checked).toBe(1);
    cell.drain('api-3-1');
    expect(cell.messages.join()).toMatch(/api-3-1 was drained .* 2 of 4 did not serve .* at most 2 may/);
  });

  it('by what it saw at the revision it names, and not by what has happened since', () => {
    const cell = serving();
    const seen = cell.revision;
    loses(cell, 'api-0-1');
    loses(cell, 'api-1-1');
    cell.drain('api-2-1', seen);
    expect(cell.violations).toEqual([]);
    cell.drain('api-3-1', seen);
    expect(cell.violations, 'it knows of its own move').toEqual([]);
  });

  it('and its own moves count although it looked before them', () => {
    const cell = serving();
    const seen = cell.revision;
    cell.drain('api-0-1', seen);
    cell.drain('api-2-1', seen);
    expect(cell.violations).toEqual([]);
    cell.drain('api-3-1', seen);
    expect(cell.violations).toHaveLength(1);
  });

  it('by any limit that its workload had between the look and the commit', () => {
    const cell = serving();
    says(cell, 1);
    loses(cell, 'api-0-1');
    const seen = cell.revision;
    says(cell, 2);
    cell.drain('api-2-1', seen);
    expect(cell.violations).toEqual([]);
    const later = cell.revision;
    says(cell, 1);
    cell.drain('api-3-1', later);
    expect(cell.violations).toHaveLength(1);
  });

  it('and may ask one that did not serve yet when it looked', () => {
    const cell = serving();
    for (const slot of [0, 1]) loses(cell, `api-${slot}-1`);
    cell.move('api-2-1', 'Ready', 'endpoints-controller');
    const seen = cell.revision;
    cell.move('api-2-1', 'Serving', 'endpoints-controller');
    cell.drain('api-2-1', seen);
    expect(cell.violations).toEqual([]);
  });

  it('and says what it saw; of a batch no count is kept, and one that does not serve is not missed', () => {
    const cell = serving();
    cell.move('api-0-1', 'Releasing', 'drain', {}, { reason: 'Drained' });
    expect(cell.messages.join()).toContain('it is not said what was seen');
    const batch = serving('Batch');
    for (const slot of [0, 1, 2, 3]) batch.drain(`api-${slot}-1`);
    const short = serving();
    for (const slot of [0, 1, 2]) loses(short, `api-${slot}-1`);
    short.move('api-3-1', 'Ready', 'endpoints-controller');
    short.drain('api-3-1');
    expect([...batch.violations, ...short.violations]).toEqual([]);
  });
});
