import { describe, expect, it } from 'vitest';
import { type NodeAccount, nodeAccountKey } from '../../model/records.js';
import type { Draft } from './cell.fixture.js';
import { HonestCell } from './honest-cell.fixture.js';
import { NodeCapacity } from './node-capacity.js';

function cellWith(...slots: readonly string[]): HonestCell {
  const cell = new HonestCell([new NodeCapacity()]).settled();
  cell.workload('big', { resources: { cpu: '2' } });
  for (const slot of slots) cell.incarnate('big', slot);
  return cell;
}
const account = (change: Partial<NodeAccount>) => (draft: Draft) =>
  draft.change<NodeAccount>(nodeAccountKey('n1'), (old) => ({ ...old, ...change }));
const oneCore = { cpuMilli: 1_000 };

describe('[S2] no commit raises a node’s use above what it offers', () => {
  it('and nothing is said while it fits', () => {
    const cell = cellWith('0', '1');
    cell.bind('big-0-1', 'n1');
    cell.hold('big-1-1', 'n1');
    expect([...cell.violations, ...cell.whole()]).toEqual([]);
    expect(cell.checkers[0]?.checked).toBeGreaterThan(0);
  });

  it('a third that does not fit is noticed, in the account and in the charges, and found again from scratch', () => {
    const cell = cellWith('0', '1', '2');
    for (const slot of ['0', '1', '2']) cell.bind(`big-${slot}-1`, 'n1');
    expect(cell.messages).toEqual([
      '/a/node/n1 account cpu was raised from 4000 to 6000, above 4000',
      '/a/node/n1 sum of charges cpu was raised from 4000 to 6000, above 4000',
    ]);
    expect(cell.whole()).toHaveLength(2);
  });

  it('charges that the account does not show are noticed', () => {
    const cell = cellWith('0', '1', '2');
    for (const slot of ['0', '1', '2']) cell.altering(account({ used: oneCore })).bind(`big-${slot}-1`, 'n1');
    expect(cell.messages).toEqual(['/a/node/n1 sum of charges cpu was raised from 4000 to 6000, above 4000']);
  });

  it('what a node does not name, it does not offer', () => {
    const cell = cellWith('0');
    cell.altering(account({ allocatable: {} })).transact('server-1', () => undefined);
    cell.bind('big-0-1', 'n1');
    expect(cell.messages).toHaveLength(2);
  });

  it('an offer that shrinks is not a violation, and the use above it may only shrink', () => {
    const cell = cellWith('0', '1', '2');
    cell.bind('big-0-1', 'n1');
    cell.bind('big-1-1', 'n1');
    cell.altering(account({ allocatable: oneCore })).transact('server-1', () => undefined);
    cell.move('big-0-1', 'Failed', 'agent:n1');
    expect([...cell.violations, ...cell.whole()]).toEqual([]);
    cell.bind('big-2-1', 'n1');
    expect(cell.violations).toHaveLength(2);
    expect(cell.whole()).toHaveLength(2);
  });

  it('a hold that awaits its devices and ports from a victim is not yet charged with them', () => {
    const cell = cellWith();
    cell.workload('gpu', { resources: { cpu: '1', devices: { gpu: 1 }, ports: ['http:8080'] } });
    for (const slot of ['0', '1']) cell.incarnate('gpu', slot);
    cell.bind('gpu-0-1', 'n1', { devices: { gpu: ['n1-g0'] }, ports: { http: 8080 } });
    const awaiting = (ports: object) => (draft: Draft) =>
      draft.change<{ status: { awaits: readonly object[] } }>(
        '/s/Reservation/shop/hold-gpu-1-1',
        ({ status }) => ({
          status: { ...status, awaits: status.awaits.map((one) => ({ ...one, ports })) },
        }),
      );
    cell.altering(awaiting({ http: 8080 })).hold('gpu-1-1', 'n1', {}, ['gpu-0-1']);
    expect([...cell.violations, ...cell.whole()]).toEqual([]);
    cell.altering(awaiting({})).transact('server-1', () => undefined);
    expect(cell.whole().map(({ message }) => message)).toEqual([
      '/s/Reservation/shop/hold-gpu-1-1 is charged less than shop/gpu-1 asks for: port none for http:8080',
    ]);
  });

  it.each([
    ['amounts', { amounts: { cpu: '1' } }, '1000 cpu of 2000'],
    ['a device', { amounts: { cpu: '2' } }, '0 devices gpu of 1'],
    ['a port', { devices: { gpu: ['n1-g0'] }, ports: { http: 80 } }, 'port 80 for http:8080'],
  ])('a charge that leaves out %s its template asks for is noticed', (_, choice, what) => {
    const cell = cellWith();
    cell.workload('all', { resources: { cpu: '2', devices: { gpu: 1 }, ports: ['http:8080'] } });
    cell.incarnate('all');
    cell.bind('all-0-1', 'n1', choice);
    expect(cell.messages.join()).toContain(what);
    expect(cell.whole()).toEqual(cell.violations);
  });
});
