import { describe, expect, it } from 'vitest';
import type { Tenant } from '../../model/kinds/tenant.js';
import type { TenantLedger } from '../../model/kinds/tenant-ledger.js';
import { objectOf } from '../../model/fake-objects.fixture.js';
import { needsGrant } from './needs-grant.js';

const tenant = (limit: object | undefined): Tenant =>
  objectOf('Tenant', undefined, 't', { spec: { ...(limit && { limit }) } }) as Tenant;
const ledger = (amounts: object | undefined): TenantLedger =>
  objectOf('TenantLedger', undefined, 't', {
    status: { used: {}, grant: { epoch: { cell: 1, number: 1 }, ...(amounts && { amounts }) } },
  }) as unknown as TenantLedger;

describe('a tenant', () => {
  it.each<[object | undefined, object | undefined, boolean]>([
    [undefined, undefined, false],
    [undefined, {}, false],
    [{ cpu: '2' }, { cpu: '2' }, false],
    [{ cpu: 2 }, { cpu: '2' }, false],
    [{ memory: '1024Mi', cpu: '2000m' }, { cpu: '2', memory: '1Gi' }, false],
    // What an older server granted for a limit that it could not count.
    [{ memory: '1Gi' }, { memory: 'Infinity' }, true],
    [{ cpu: '2' }, { cpu: '3' }, true],
    [{ cpu: '2' }, {}, true],
    [undefined, { cpu: '2' }, true],
    [{ cpu: '0' }, {}, true],
    [{}, { cpu: '0' }, true],
    [{ devices: { gpu: 0 } }, { devices: { tpu: 0 } }, true],
    [{ devices: { gpu: 2 }, replicas: 5 }, { devices: { gpu: 2 }, replicas: 5 }, false],
    [{ replicas: 5 }, { replicas: 6 }, true],
  ])('with the limit %j and the grant %j needs a grant: %s', (limit, amounts, expected) => {
    expect(needsGrant(tenant(limit), ledger(amounts))).toBe(expected);
  });

  it('needs a grant while it has none, even if nothing is limited', () => {
    expect(needsGrant(tenant(undefined), undefined)).toBe(true);
    const empty = objectOf('TenantLedger', undefined, 't', { status: { used: {} } });
    expect(needsGrant(tenant(undefined), empty as unknown as TenantLedger)).toBe(true);
  });
});
