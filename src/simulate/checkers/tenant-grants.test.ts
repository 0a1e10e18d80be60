import { describe, expect, it } from 'vitest';
import { type TenantAccount, tenantAccountKey } from '../../model/records.js';
import type { Draft } from './cell.fixture.js';
import { HonestCell } from './honest-cell.fixture.js';
import { TenantGrants } from './tenant-grants.js';

function cellWithFour(): HonestCell {
  const cell = new HonestCell([new TenantGrants()]).settled();
  cell.workload('big', { resources: { cpu: '2' } });
  for (const slot of ['0', '1', '2', '3']) cell.incarnate('big', slot);
  for (const slot of ['0', '1', '2']) cell.bind(`big-${slot}-1`, slot === '2' ? 'n2' : 'n1');
  return cell;
}
const account = (change: Partial<TenantAccount>) => (draft: Draft) =>
  draft.change<TenantAccount>(tenantAccountKey('shop'), (old) => ({ ...old, ...change }));
const grant = (cpuMilli: number) => ({
  most: { cpuMilli, replicas: 20 },
  epoch: { cell: 1, number: 1 },
  source: 'Whole' as const,
});

describe('[S3] no commit raises a tenant’s use above its grant', () => {
  it('and nothing is said within it', () => {
    const cell = cellWithFour();
    expect([...cell.violations, ...cell.whole()]).toEqual([]);
    expect(cell.checkers[0]?.checked).toBeGreaterThan(0);
  });

  it('use above it is noticed', () => {
    const cell = cellWithFour();
    cell.bind('big-3-1', 'n2');
    expect(cell.messages).toEqual([
      '/a/tenant/shop account cpu was raised from 6000 to 8000, above 6000',
      '/a/tenant/shop sum of charges cpu was raised from 6000 to 8000, above 6000',
    ]);
    expect(cell.whole()).toHaveLength(2);
  });

  it('charges above it that the account does not show are noticed', () => {
    const cell = cellWithFour();
    cell.altering(account({ used: {} })).hold('big-3-1', 'n2');
    expect(cell.messages).toHaveLength(1);
  });

  it.each([
    ['is not there', { grant: undefined }],
    ['has expired', { grant: { ...grant(6_000), isExpired: true } }],
  ])('nothing is committed under a grant that %s', (_, change) => {
    const cell = cellWithFour();
    cell.move('big-0-1', 'Failed', 'agent:n1');
    cell.altering(account(change as Partial<TenantAccount>)).transact('server-1', () => undefined);
    expect([...cell.violations, ...cell.whole()]).toEqual([]);
    cell.bind('big-3-1', 'n2');
    expect(cell.messages.join()).toContain('cpu was raised from 4000 to 6000, above 0');
  });

  it('what a lost replica uses does not count, so that its tenant can recover', () => {
    const cell = cellWithFour();
    cell.move('big-0-1', 'Unknown', 'repair-controller');
    cell.replace('big', '0', 2);
    cell.bind('big-0-2', 'n2');
    expect([...cell.violations, ...cell.whole()]).toEqual([]);
  });

  it.each([
    ['above the limit', grant(7_000), 'grants 7000 cpu; the limit is 6000'],
    ['without a limit', { ...grant(0), most: { replicas: 20 } }, 'grants unlimited cpu; the limit is 6000'],
    [
      'that is a part',
      { ...grant(6_000), source: 'Part' as const, epoch: { cell: 1, number: 2 } },
      'source Part',
    ],
  ])('a grant %s is noticed', (_, written, what) => {
    const cell = cellWithFour();
    cell.altering(account({ grant: written })).transact('server-1', () => undefined);
    expect(cell.messages.join()).toContain(what);
  });
});
