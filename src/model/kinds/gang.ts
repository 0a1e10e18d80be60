import type { Static } from 'typebox';
import { ageColumn, column, defineKind, type TypedObject } from '../define-kind.js';
import { choice, count, nameOf, record, text, timestamp } from '../fields.js';
import { conditions } from '../parts/condition.js';

const spec = record(
  'Which replicas, and how many of them must start together.',
  {
    workload: nameOf('The workload whose replicas are members.'),
    minAvailable: count('How many must be placed at once.', { minimum: 1 }),
  },
  { members: count('How many members there are.', { minimum: 1 }) },
);

const status = record(
  'How far it has come.',
  {
    state: choice(
      'Waiting: nobody reserves. Reserving: members gather holds. Committed: holds no longer expire and every member goes forward. Released: it gave up its holds.',
      ['Waiting', 'Reserving', 'Committed', 'Released'],
    ),
  },
  {
    holds: count('How many members hold capacity.'),
    attempts: count('How often it has tried.'),
    retryAt: timestamp('When it tries again.'),
    operation: text('The operation in progress.', { maxLength: 253 }),
    conditions,
  },
);

export type GangSpec = Static<typeof spec>;
export type GangStatus = Static<typeof status>;
export type Gang = TypedObject<GangSpec, GangStatus>;

export const gang = defineKind({
  kind: 'Gang',
  plural: 'gangs',
  singular: 'gang',
  scope: 'Tenant',
  description: 'Replicas that start together or not at all.',
  spec,
  status,
  writers: { spec: 'workload-controller', status: 'commit' },
  isApplied: false,
  columns: [
    column('Workload', 'string', '.spec.workload', 'The workload whose replicas are members.'),
    column('State', 'string', '.status.state', 'How far it has come.'),
    column('Holds', 'integer', '.status.holds', 'How many members hold capacity.'),
    column('Needs', 'integer', '.spec.minAvailable', 'How many must.'),
    ageColumn,
  ],
  selectableFields: ['spec.workload', 'status.state'],
  check: ({ spec: { minAvailable, members } }) =>
    members === undefined || minAvailable <= members
      ? []
      : [
          {
            path: 'spec.minAvailable',
            value: minAvailable,
            reason: 'Invalid',
            message: `must be at most members, which is ${members}`,
          },
        ],
});
