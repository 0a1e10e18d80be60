import type { Static } from 'typebox';
import { ageColumn, column, defineKind, type TypedObject } from '../define-kind.js';
import { record, seconds, text, timestamp } from '../fields.js';
import { epoch } from '../parts/epoch.js';
import { shownEpoch } from '../records.js';

const spec = record(
  'Who holds it.',
  {
    holder: text('Who may act; empty if its last holder released it.', { maxLength: 253 }),
    epoch,
    durationSeconds: seconds('How long it lasts without a renewal, on the clock of whoever watches it.', {
      minimum: 1,
    }),
  },
  {
    address: text('Where the holder can be reached.', { maxLength: 253 }),
    acquiredAt: timestamp('When this holder got it, for people to read.'),
    renewedAt: timestamp('When it was last renewed, for people to read.'),
    lastTerm: record(
      'The term that ended last: of this epoch if the lease was released, of an earlier one if it is held.',
      {
        holder: text('Who held the lease.', { maxLength: 253 }),
        epoch,
        endedBy: text('Who ended the term: its holder, or the next one, who passed it over.', {
          maxLength: 253,
        }),
        endedAt: timestamp('When the term ended, for people to read.'),
        reason: text('Why it ended: Stopped, WorkEnded, NotRenewed, HolderGone or RegisteredAgain.', {
          maxLength: 253,
        }),
      },
    ),
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
    column(
      'Last Term',
      'string',
      lastTermText,
      'The term that ended last: its epoch, who ended it, and why.',
    ),
    ageColumn,
  ],
  selectableFields: ['spec.holder'],
});

type Shown = { readonly spec?: Readonly<Record<string, unknown>> };

function epochText(object: Shown): string | undefined {
  const value = (object as Partial<Lease>).spec?.epoch;
  return value === undefined ? undefined : shownEpoch(value);
}

function lastTermText(object: Shown): string | undefined {
  const term = (object as Partial<Lease>).spec?.lastTerm;
  return term === undefined
    ? undefined
    : `${shownEpoch(term.epoch)} ended by ${term.endedBy}: ${term.reason}`;
}
