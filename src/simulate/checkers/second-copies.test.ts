import { describe, expect, it } from 'vitest';
import { HonestCell } from './honest-cell.fixture.js';
import { SingleBinding } from './single-binding.js';

/** Incarnation 1 of `web`, which is AtLeastOne, is bound to n1 and lost. Revision 2 of `web` is AtMostOne. */
function withLostCopy(): HonestCell {
  const cell = new HonestCell([new SingleBinding()]).settled();
  cell.template('web', 2, { execution: 'AtMostOne' });
  cell.incarnate('web');
  cell.bind('web-0-1', 'n1');
  cell.move('web-0-1', 'Unknown', 'repair-controller');
  return cell;
}

/** What the user writes: the spec of the workload from now on. */
const says = (cell: HonestCell, execution: string, action: string): void =>
  cell.object('user-ann', 'Workload', 'shop', 'web', {
    ...{ type: 'Service', replicas: 1, placement: {} },
    ...{ template: { execution }, onNodeLost: { action } },
  });

describe('[S5] a second copy beside one that may still run', () => {
  it('is fine while workload and revisions say AtLeastOne and Replace', () => {
    const cell = withLostCopy();
    cell.replace('web', '0', 2);
    cell.bind('web-0-2', 'n2');
    expect(cell.violations).toEqual([]);
  });

  it('is noticed when it is made of an AtMostOne revision after the replacement has ended', () => {
    const cell = withLostCopy();
    cell.replace('web', '0', 2);
    cell.move('web-0-2', 'Released', 'workload-controller');
    cell.incarnate('web', '0', 3, { revision: 2 });
    expect(cell.messages).toEqual([
      'shop/web-0-3 was made while web-0-1 (Unknown) may run on n1, and web-0-3 is AtMostOne',
    ]);
  });

  it.each([
    ['AtMostOne', 'Fence'],
    ['AtLeastOne', 'Wait'],
  ])('is noticed when it is bound after the workload has come to say %s and %s', (execution, action) => {
    const cell = withLostCopy();
    cell.replace('web', '0', 2);
    says(cell, execution, action);
    cell.bind('web-0-2', 'n2');
    expect(cell.messages).toEqual([
      `shop/web-0-2 was bound while web-0-1 (Unknown) may run on n1, and web says ${execution}, ${action}`,
    ]);
  });

  it('is fine once the lost copy has ended', () => {
    const cell = withLostCopy();
    says(cell, 'AtMostOne', 'Fence');
    cell.move('web-0-1', 'Released', 'agent:n1');
    cell.incarnate('web', '0', 2, { revision: 2 });
    cell.bind('web-0-2', 'n2');
    expect(cell.violations).toEqual([]);
  });
});
