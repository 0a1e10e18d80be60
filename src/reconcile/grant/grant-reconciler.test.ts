import { describe, expect, it } from 'vitest';
import type { ObjectChange } from '../../model/ports.js';
import { objectOf } from '../../model/fake-objects.fixture.js';
import { tenantKeysOf } from './grant-reconciler.js';

const ledger = (used: string, granted: string | undefined) =>
  objectOf('TenantLedger', undefined, 't', {
    status: { used: { cpu: used }, ...(granted && { grant: { amounts: { cpu: granted } } }) },
  });
const keys = (change: Omit<ObjectChange, 'kind' | 'version'>): string[] => [
  ...tenantKeysOf({ ...change, kind: change.object.kind, version: 1 }),
];

describe('the tenants that a change concerns', () => {
  it('are those that changed and those whose grant did, not those that only use more', () => {
    const tenant = objectOf('Tenant', undefined, 't');
    expect(keys({ type: 'ADDED', object: tenant, before: undefined })).toEqual(['t']);
    expect(keys({ type: 'MODIFIED', object: ledger('2', '4'), before: ledger('1', '4') })).toEqual([]);
    expect(keys({ type: 'MODIFIED', object: ledger('1', '5'), before: ledger('1', '4') })).toEqual(['t']);
    expect(keys({ type: 'DELETED', object: ledger('1', '5'), before: ledger('1', '5') })).toEqual(['t']);
  });
});
