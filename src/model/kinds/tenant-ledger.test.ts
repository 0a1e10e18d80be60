import { expect, it } from 'vitest';
import { example } from '../example.fixture.js';
import { Validator } from '../validate.js';
import { tenantLedger } from './tenant-ledger.js';

it('a TenantLedger shows what a tenant is granted and uses; nobody writes it', () => {
  const status = {
    revision: '42',
    grant: { epoch: { cell: 1, number: 3 }, amounts: { cpu: '64', replicas: 500 } },
    used: { cpu: '2', memory: '4Gi', devices: { gpu: 1 }, replicas: 1 },
    borrowed: { cpu: '0' },
    lost: { cpu: '2', replicas: 1 },
  };
  expect(new Validator().validate(tenantLedger, example(tenantLedger, { status }, 'fraud'))).toEqual([]);
  expect(tenantLedger.writers).toEqual({ spec: 'nobody', status: 'nobody' });
});
