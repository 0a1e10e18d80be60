import type { Static } from 'typebox';
import { ageColumn, column, defineKind, type TypedObject } from '../define-kind.js';
import { count, record, text, timestamp } from '../fields.js';
import { amountFields } from '../parts/amounts.js';
import { epoch } from '../parts/epoch.js';

const fields = { ...amountFields, replicas: count('How many replicas.') };

const status = record(
  'The account of the tenant at one revision.',
  {},
  {
    revision: text('The resourceVersion of the account.', { maxLength: 64 }),
    grant: record(
      "This cell's part of the tenant's limit.",
      { epoch },
      {
        amounts: record('What may be committed. A resource that is not named is not limited.', {}, fields),
        expiresAt: timestamp('When it expires, for people to read. It does not if left out.'),
      },
    ),
    used: record('What replicas and holds are charged with.', {}, fields),
    borrowed: record('What of that is above the guarantee.', {}, amountFields),
    lost: record('What lost replicas that were replaced may still use; outside the limit.', {}, fields),
  },
);

export type TenantLedgerStatus = Static<typeof status>;
export type TenantLedger = TypedObject<never, TenantLedgerStatus>;

export const tenantLedger = defineKind({
  kind: 'TenantLedger',
  plural: 'tenantledgers',
  singular: 'tenantledger',
  scope: 'Cluster',
  description: 'A view of the account of a tenant: what is granted and committed. Nobody writes it.',
  status,
  writers: { spec: 'nobody', status: 'nobody' },
  isApplied: false,
  columns: [
    column('CPU-Used', 'string', '.status.used.cpu', 'Cores committed.'),
    column('CPU-Grant', 'string', '.status.grant.amounts.cpu', 'Cores granted.'),
    column('Memory-Used', 'string', '.status.used.memory', 'Memory committed.'),
    column('Memory-Grant', 'string', '.status.grant.amounts.memory', 'Memory granted.'),
    column('Replicas', 'integer', '.status.used.replicas', 'Replicas that have not ended.'),
    ageColumn,
  ],
});
