import type { Static } from 'typebox';
import { ageColumn, column, defineKind, type TypedObject } from '../define-kind.js';
import { choice, count, listOf, mapOf, nameOf, record, seconds, setOf, text } from '../fields.js';
import { amountFields } from '../parts/amounts.js';
import { charge } from '../parts/charge.js';
import { conditions } from '../parts/condition.js';
import { epoch } from '../parts/epoch.js';

const spec = record(
  'What is held, for whom and how long.',
  {
    owner: record('Who it is held for; when it is gone, so is the hold.', {
      kind: text('The kind of the owner.', { minLength: 1, maxLength: 63 }),
      name: nameOf('The name of the owner.'),
      uid: text('The uid of the owner.', { minLength: 1, maxLength: 64 }),
    }),
    intent: choice('What it is held for.', ['Bind', 'Gang', 'Preemption', 'Recovery']),
    node: nameOf('The node it is held on.'),
    amounts: record('How much is held.', {}, amountFields),
    deadlineSeconds: seconds('How long it is held, on the clock of whoever enforces it.', { minimum: 1 }),
  },
  {
    ports: setOf('Ports that are held: name, or name:number.', text('A port.', { format: 'port' })),
    operation: text('The operation that asked for it.', { maxLength: 253 }),
    decision: text('The Decision that chose the node.', { maxLength: 253 }),
    victims: setOf('The replicas whose release it waits for.', nameOf('A replica.')),
  },
);

const status = record(
  'What became of it.',
  { state: choice('A hold is bound, released or expired, once.', ['Held', 'Bound', 'Released', 'Expired']) },
  {
    nodeEpoch: epoch,
    charge,
    now: record('What is already posted as used.', {}, amountFields),
    awaits: listOf(
      'What is still used by victims and moves to this hold when they are released.',
      record(
        'What one victim still uses.',
        {
          replica: nameOf('The victim.'),
          uid: text('Its uid.', { maxLength: 64 }),
          amounts: record('What moves when it is released.', {}, amountFields),
        },
        {
          ports: mapOf(
            'Its ports that move, by the name they get.',
            count('A port number.', { minimum: 1, maximum: 65_535 }),
          ),
        },
      ),
    ),
    reason: text('Why it was released.', { maxLength: 253 }),
    conditions,
  },
);

export type ReservationSpec = Static<typeof spec>;
export type ReservationStatus = Static<typeof status>;
export type Reservation = TypedObject<ReservationSpec, ReservationStatus>;

export const reservation = defineKind({
  kind: 'Reservation',
  plural: 'reservations',
  singular: 'reservation',
  shortNames: ['rsv'],
  scope: 'Tenant',
  description: 'Capacity that is held before a bind, with an owner, an intent and a deadline.',
  spec,
  status,
  writers: { spec: 'scheduler', status: 'commit' },
  isApplied: false,
  columns: [
    column('Owner', 'string', '.spec.owner.name', 'Who it is held for.'),
    column('Intent', 'string', '.spec.intent', 'What it is held for.'),
    column('Node', 'string', '.spec.node', 'The node it is held on.'),
    column('State', 'string', '.status.state', 'What became of it.'),
    ageColumn,
  ],
  selectableFields: ['spec.node', 'spec.owner.uid', 'spec.owner.name', 'status.state'],
});
