import type { Static } from 'typebox';
import { ageColumn, column, defineKind, type TypedObject } from '../define-kind.js';
import { choice, count, integer, mapOf, nameOf, record, text, timestamp } from '../fields.js';
import { checkUnchanged } from '../immutable.js';
import { conditions } from '../parts/condition.js';
import { withWorkloadDefaults } from '../parts/workload-defaults.js';
import { checkWorkloadSpec } from '../parts/workload-rules.js';
import { workloadSpec, type WorkloadSpec } from '../parts/workload-spec.js';

export const boundaries = [
  'Quota',
  'Authority',
  'Scheduling',
  'Binding',
  'NodeStart',
  'Readiness',
  'Traffic',
] as const;
export type Boundary = (typeof boundaries)[number];

const status = record(
  'How far it has come.',
  {},
  {
    observedGeneration: integer('The generation of the spec that this status is about.'),
    desired: count('How many replicas should be there now.'),
    replicas: count('How many replicas there are that have not ended.'),
    readyReplicas: count('How many of them are ready or serving.'),
    servingReplicas: count('How many of them take traffic.'),
    updatedReplicas: count('How many of them are of the newest revision.'),
    unknownReplicas: count('Of how many it is not known whether they run.'),
    selector: text('Finds its replicas, as a label selector.'),
    currentRevision: nameOf('The revision that was last rolled out in full.'),
    updateRevision: nameOf('The revision that is being rolled out.'),
    progress: record(
      'What limits it now, and whose move is next.',
      { stages: mapOf('How many replicas are at each stage.', count('How many.')) },
      {
        limitedBy: choice('The boundary that most of what is missing waits at.', boundaries),
        reason: text('The most frequent reason there, from the table of reasons.', { maxLength: 253 }),
        message: text('The same for people.'),
        since: timestamp('Since when that boundary limits it.'),
        operation: text('The operation in progress.', { maxLength: 253 }),
        nextMove: text('The actor whose move is next.', { maxLength: 253 }),
        deadline: timestamp('When that actor will no longer be waited for.'),
      },
    ),
    batch: record(
      'How far a Batch has come.',
      {},
      {
        succeeded: count('How many slots have succeeded.'),
        failed: count('How many executions have failed.'),
        startedAt: timestamp('When the current run began.'),
        finishedAt: timestamp('When the last run ended.'),
        nextRunAt: timestamp('When the schedule starts it next.'),
      },
    ),
    conditions,
  },
);

export type WorkloadStatus = Static<typeof status>;
export type Workload = TypedObject<WorkloadSpec, WorkloadStatus>;

export const workload = defineKind({
  kind: 'Workload',
  plural: 'workloads',
  singular: 'workload',
  shortNames: ['wl'],
  categories: ['all'],
  scope: 'Tenant',
  nameForm: 'label',
  description: 'Desired replicas of one template: a Service, a Batch or a Daemon.',
  spec: workloadSpec,
  status,
  writers: { spec: 'user', status: 'workload-controller' },
  isApplied: true,
  scale: { specReplicas: '.spec.replicas', statusReplicas: '.status.replicas', selector: '.status.selector' },
  columns: [
    column('Type', 'string', '.spec.type', 'Service, Batch or Daemon.'),
    column(
      'Desired',
      'integer',
      '.spec.replicas',
      'How many replicas should be there; a Daemon has one per node.',
    ),
    column('Ready', 'integer', '.status.readyReplicas', 'How many replicas are ready.'),
    column('Serving', 'integer', '.status.servingReplicas', 'How many replicas take traffic.', 1),
    column('Updated', 'integer', '.status.updatedReplicas', 'How many are of the newest revision.', 1),
    column('Limited-By', 'string', '.status.progress.limitedBy', 'The boundary that limits it now.'),
    column('Reason', 'string', '.status.progress.reason', 'The most frequent reason there.', 1),
    column('Priority', 'string', '.spec.priorityClassName', 'Its priority class.', 1),
    ageColumn,
  ],
  selectableFields: ['spec.type', 'spec.priorityClassName', 'status.progress.limitedBy'],
  withDefaults: withWorkloadDefaults,
  check: (object, before) => [
    ...checkWorkloadSpec(object.spec),
    ...(before === undefined ? [] : checkUnchanged('spec.type', object.spec.type, before.spec.type)),
  ],
});
