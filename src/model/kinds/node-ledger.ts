import type { Static } from 'typebox';
import { ageColumn, column, defineKind, type TypedObject } from '../define-kind.js';
import { choice, count, listOf, mapOf, nameOf, record, text } from '../fields.js';
import { amountFields } from '../parts/amounts.js';
import { charge } from '../parts/charge.js';
import { epoch } from '../parts/epoch.js';

const status = record(
  'The account of the node at one revision.',
  {},
  {
    revision: text('The resourceVersion of the account.', { maxLength: 64 }),
    epoch,
    gate: record(
      'Whether new replicas may be bound here.',
      { state: choice('Open or Closed.', ['Open', 'Closed']) },
      { reason: text('Why it is closed.', { maxLength: 253 }) },
    ),
    allocatable: record('What it offers.', {}, amountFields),
    used: record('What is committed of it.', {}, amountFields),
    overcommitted: choice('Overcommitted: it offers less than is committed, so use may only shrink.', [
      'No',
      'Overcommitted',
    ]),
    claims: record(
      'What has one owner at most.',
      {},
      {
        devices: mapOf('Owners of devices, by the id of the device.', text('The uid of the owner.')),
        ports: mapOf('Owners of ports, by number.', text('The uid of the owner.')),
      },
    ),
    antiAffinity: mapOf('How many of what must be kept apart are here.', count('How many.')),
    charges: listOf(
      'What the used amounts consist of.',
      record('Who is charged with what.', {
        kind: choice('What is charged.', ['Replica', 'Reservation']),
        name: nameOf('Its name.'),
        uid: text('Its uid.', { maxLength: 64 }),
        charge,
      }),
      { maxItems: 10_000 },
    ),
  },
);

export type NodeLedgerStatus = Static<typeof status>;
export type NodeLedger = TypedObject<never, NodeLedgerStatus>;

export const nodeLedger = defineKind({
  kind: 'NodeLedger',
  plural: 'nodeledgers',
  singular: 'nodeledger',
  scope: 'Cluster',
  description: 'A view of the account of a node: what is committed there, and by whom. Nobody writes it.',
  status,
  writers: { spec: 'nobody', status: 'nobody' },
  isApplied: false,
  columns: [
    column('Gate', 'string', '.status.gate.state', 'Whether new replicas may be bound here.'),
    column('CPU-Used', 'string', '.status.used.cpu', 'Cores committed.'),
    column('CPU', 'string', '.status.allocatable.cpu', 'Cores offered.'),
    column('Memory-Used', 'string', '.status.used.memory', 'Memory committed.'),
    column('Memory', 'string', '.status.allocatable.memory', 'Memory offered.'),
    column('Overcommitted', 'string', '.status.overcommitted', 'Whether more is committed than offered.', 1),
    ageColumn,
  ],
});
