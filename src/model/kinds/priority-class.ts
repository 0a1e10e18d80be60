import type { Static } from 'typebox';
import { ageColumn, column, defineKind, type TypedObject } from '../define-kind.js';
import { choice, flag, integer, record, text } from '../fields.js';
import { fillIn } from '../fill-in.js';

const spec = record(
  'How much the work of this class matters.',
  {
    value: integer('Work with a larger value goes first.', {
      minimum: -1_000_000_000,
      maximum: 1_000_000_000,
    }),
  },
  {
    preemption: choice('Whether it may take the place of work that ranks below it. Default Allowed.', [
      'Allowed',
      'Never',
    ]),
    recoveryPools: flag('Whether it may use capacity that is kept for recovery. Default false.'),
    description: text('What the class is for.', { maxLength: 1_024 }),
  },
);

export type PriorityClassSpec = Static<typeof spec>;
export type PriorityClass = TypedObject<PriorityClassSpec, never>;

export const priorityClass = defineKind({
  kind: 'PriorityClass',
  plural: 'priorityclasses',
  singular: 'priorityclass',
  shortNames: ['pc'],
  scope: 'Cluster',
  description: 'How much work matters, and what it may do to get a place.',
  spec,
  writers: { spec: 'operator', status: 'nobody' },
  isApplied: true,
  columns: [
    column('Value', 'integer', '.spec.value', 'Work with a larger value goes first.'),
    column('Preemption', 'string', '.spec.preemption', 'Whether it may preempt.'),
    column('Recovery-Pools', 'boolean', '.spec.recoveryPools', 'Whether it may use recovery pools.', 1),
    ageColumn,
  ],
  withDefaults: (object) =>
    object.spec === undefined
      ? object
      : {
          ...object,
          spec: fillIn(object.spec, { preemption: 'Allowed', recoveryPools: false }) as PriorityClassSpec,
        },
});
