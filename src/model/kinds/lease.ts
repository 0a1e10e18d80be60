import type { Static } from 'typebox';
import { ageColumn, column, defineKind, type TypedObject } from '../define-kind.js';
import { integer, record, seconds, text, timestamp } from '../fields.js';
import { epoch } from '../parts/epoch.js';

const spec = record(
  'Who holds it.',
  {
    holder: text('Who may act.', { minLength: 1, maxLength: 253 }),
    epoch,
    durationSeconds: seconds('How long it lasts without a renewal, on the clock of whoever watches it.', {
      minimum: 1,
    }),
  },
  {
    address: text('Where the holder can be reached.', { maxLength: 253 }),
    acquiredAt: timestamp('When this holder got it, for people to read.'),
    renewedAt: timestamp('When it was last renewed, for people to read.'),
    transitions: integer('How often the holder has changed.'),
  },
);

export type LeaseSpec = Static<typeof spec>;
export type Lease = TypedObject<LeaseSpec, never>;

export const lease = defineKind({
  kind: 'Lease',
  plural: 'leases',
  singular: 'lease',
  scope: 'Cluster',
  description: 'Who may act, and under which epoch. A view of a record of the authority: nobody writes it.',
  spec,
  writers: { spec: 'nobody', status: 'nobody' },
  isApplied: false,
  columns: [
    column('Holder', 'string', '.spec.holder', 'Who may act.'),
    column('Epoch', 'string', epochText, 'The epoch: incarnation of the cell, number.'),
    column('Address', 'string', '.spec.address', 'Where the holder can be reached.', 1),
    column('Renewed', 'date', '.spec.renewedAt', 'When it was last renewed.'),
    ageColumn,
  ],
  selectableFields: ['spec.holder'],
});

function epochText(object: { readonly spec?: Readonly<Record<string, unknown>> }): string | undefined {
  const value = (object as Partial<Lease>).spec?.epoch;
  return value === undefined ? undefined : `${value.cell}.${value.number}`;
}
