import type { Static } from 'typebox';
import { choice, count, mapOf, nameOf, record, setOf, text } from '../fields.js';
import { amountFields } from './amounts.js';

/** What is posted to the accounts of node, tenant and workload, in the transaction that writes it. */
export const charge = record(
  'What this is charged with in the accounts of its node, tenant and workload.',
  {
    tenant: nameOf('The tenant that is charged.'),
    node: nameOf('The node that is charged.'),
    rank: choice('Whether it is within the guarantee of its tenant. Fixed when it is first charged.', [
      'Guaranteed',
      'Borrowed',
    ]),
    amounts: record('The amounts charged.', {}, amountFields),
  },
  {
    workload: nameOf('The workload whose account is charged.'),
    revision: nameOf('The WorkloadRevision of what is charged, which says what it must be kept apart from.'),
    region: nameOf('The region it counts in for spreading.'),
    zone: nameOf('The zone of that region it counts in for spreading.'),
    devices: mapOf(
      'The devices claimed, by class.',
      setOf('The devices of this class.', text('The id of a device.', { minLength: 1, maxLength: 253 })),
    ),
    ports: mapOf(
      'The ports claimed on the node, by name.',
      count('A port number.', { minimum: 1, maximum: 65_535 }),
    ),
    subtotal: choice(
      'Counted: within the limit of the tenant. Lost: its replica was replaced, so it is charged outside the limit. Default Counted.',
      ['Counted', 'Lost'],
    ),
  },
);

export type Charge = Static<typeof charge>;
