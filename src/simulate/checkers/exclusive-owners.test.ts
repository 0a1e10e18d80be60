import { describe, expect, it } from 'vitest';
import { type NodeAccount, nodeAccountKey } from '../../model/records.js';
import { ExclusiveOwners } from './exclusive-owners.js';
import { HonestCell } from './honest-cell.fixture.js';

function cellWithGpus(): HonestCell {
  const cell = new HonestCell([new ExclusiveOwners()]).settled();
  cell.workload('gpu', { resources: { cpu: '1', devices: { gpu: 1 }, ports: ['http'] } });
  cell.incarnate('gpu', '0');
  cell.incarnate('gpu', '1');
  return cell;
}
const first = { devices: { gpu: ['n1-g0'] }, ports: { http: 20_000 } };
const second = { devices: { gpu: ['n1-g1'] }, ports: { http: 20_001 } };

const claims = (
  cell: HonestCell,
  change: (claims: NodeAccount['claims']) => NodeAccount['claims'],
): HonestCell =>
  cell.altering((draft) =>
    draft.change<NodeAccount>(nodeAccountKey('n1'), (account) => ({
      ...account,
      claims: change(account.claims),
    })),
  );

describe('[S1] a device or port has at most one owner', () => {
  it('and nothing is said while that is so', () => {
    const cell = cellWithGpus();
    cell.bind('gpu-0-1', 'n1', first);
    cell.hold('gpu-1-1', 'n1', second);
    expect(cell.violations).toEqual([]);
    expect(cell.whole()).toEqual([]);
    expect(cell.checkers[0]?.checked).toBeGreaterThan(0);
  });

  it.each([
    ['a device', { ...second, devices: first.devices }, 'device n1-g0'],
    ['a port', { ...second, ports: first.ports }, 'port 20000'],
  ])('%s that is charged twice is noticed', (_, taken, what) => {
    const cell = cellWithGpus();
    cell.bind('gpu-0-1', 'n1', first);
    cell.bind('gpu-1-1', 'n1', taken);
    expect(cell.messages.join()).toContain(
      `${what} is charged to both /s/Replica/shop/gpu-0-1 and /s/Replica/shop/gpu-1-1`,
    );
    expect(cell.whole()).toEqual(cell.violations);
  });

  it('a hold that takes what a replica has is noticed', () => {
    const cell = cellWithGpus();
    cell.bind('gpu-0-1', 'n1', first);
    cell.hold('gpu-1-1', 'n1', first);
    expect(cell.messages.join()).toContain('/s/Reservation/shop/hold-gpu-1-1');
  });

  it('what a preempting hold awaits is still its victim’s', () => {
    const cell = cellWithGpus();
    cell.bind('gpu-0-1', 'n1', first);
    claims(cell, ({ devices, ports }) => ({
      devices: { ...devices, 'n1-g0': 'uid-gpu-0-1' },
      ports: { ...ports, 20000: 'uid-gpu-0-1' },
    }));
    cell.hold('gpu-1-1', 'n1', first, ['gpu-0-1']);
    expect(cell.violations).toEqual([]);
    expect(cell.whole()).toEqual([]);
  });

  it.each([
    ['is missing', () => ({}), 'it belongs to nobody'],
    ['names another', () => ({ 'n1-g0': 'uid-other' }), 'uid-other'],
    ['is left over', (old: object) => ({ ...old, 'n1-g1': 'uid-gone' }), 'nothing charged has it'],
  ])('a claim of the account that %s is noticed', (_, change, what) => {
    const cell = cellWithGpus();
    claims(cell, ({ devices, ports }) => ({ devices: change(devices), ports }));
    cell.bind('gpu-0-1', 'n1', first);
    expect(cell.messages.join()).toContain(what);
    expect(cell.whole()).toEqual(cell.violations);
  });
});
