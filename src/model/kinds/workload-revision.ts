import type { Static } from 'typebox';
import { ageColumn, column, defineKind, type TypedObject } from '../define-kind.js';
import { integer, nameOf, record } from '../fields.js';
import { checkUnchanged } from '../immutable.js';
import { placement } from '../parts/placement.js';
import { template } from '../parts/template.js';

const spec = record(
  'All that its replicas have in common, which makes them one class to the scheduler.',
  {
    workload: nameOf('The workload it belongs to.'),
    revision: integer('Its number; a later revision has a larger one.', { minimum: 1 }),
    template,
  },
  { placement, priorityClassName: nameOf('The priority class of its replicas.') },
);

export type WorkloadRevisionSpec = Static<typeof spec>;
export type WorkloadRevision = TypedObject<WorkloadRevisionSpec, never>;

export const workloadRevision = defineKind({
  kind: 'WorkloadRevision',
  plural: 'workloadrevisions',
  singular: 'workloadrevision',
  shortNames: ['wlrev'],
  scope: 'Tenant',
  description: 'One immutable template of a workload. Replicas refer to it, so that it is stored once.',
  spec,
  writers: { spec: 'workload-controller', status: 'nobody' },
  isApplied: false,
  columns: [
    column('Workload', 'string', '.spec.workload', 'The workload it belongs to.'),
    column('Revision', 'integer', '.spec.revision', 'Its number.'),
    ageColumn,
  ],
  selectableFields: ['spec.workload'],
  check: (object, before) => (before === undefined ? [] : checkUnchanged('spec', object.spec, before.spec)),
});
