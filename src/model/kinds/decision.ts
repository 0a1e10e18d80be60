import type { Static } from 'typebox';
import { ageColumn, column, defineKind, type TypedObject } from '../define-kind.js';
import {
  anything,
  choice,
  count,
  integer,
  listOf,
  mapOf,
  measure,
  nameOf,
  record,
  text,
  timestamp,
} from '../fields.js';
import { checkUnchanged } from '../immutable.js';
import { amountFields } from '../parts/amounts.js';
import { epoch } from '../parts/epoch.js';

/** How many nodes of those that a filter rejected are named; all are counted. */
export const rejectedNamesMax = 20;

/** How many of those that leave for a replica are named; all are counted. */
export const leavingNamesMax = 20;

const quotaFields = { ...amountFields, replicas: count('How many replicas.') };

const spec = record(
  'What was decided, from what, and what came of it.',
  {
    workload: nameOf('The workload whose replicas were placed.'),
    revision: nameOf('The WorkloadRevision: the class of replicas that was placed as one.'),
    generation: integer('The generation of the workload.'),
    at: timestamp('When, for people to read.'),
    snapshot: record('The view of the cluster that it was decided on.', {
      revision: text('The resourceVersion it stood at.', { maxLength: 64 }),
      ageMs: measure('How old it was.'),
      nodes: count('How many nodes it had.'),
    }),
    policyRevision: text('The policy that was applied.', { maxLength: 253 }),
    result: choice('Whether every replica, some or none found a place.', ['Placed', 'Partly', 'NotPlaced']),
  },
  {
    reason: text('Why some or all found no place, from the table of reasons.', { maxLength: 253 }),
    scheduler: record('Who decided.', { name: text('Its name.', { maxLength: 253 }), epoch }),
    server: text('The server that keeps this decision.', { maxLength: 253 }),
    gang: record('Its members start together or not at all: nobody got a place unless so many did.', {
      name: nameOf('The gang.'),
      wanted: count('How many of these replicas had to find a place.'),
      found: count('How many did.'),
    }),
    quota: record(
      'The account of the tenant as it was seen.',
      { revision: text('The resourceVersion of the account.', { maxLength: 64 }) },
      {
        used: record('What was used.', {}, quotaFields),
        grant: record('What was granted.', {}, quotaFields),
      },
    ),
    rejections: listOf(
      'How many nodes each filter rejected.',
      record(
        'One filter and its reason.',
        {
          reason: text('The reason, from the table of reasons.', { maxLength: 253 }),
          count: count('How many nodes it rejected.'),
        },
        {
          nodes: listOf('Some of them.', nameOf('A node.'), { maxItems: rejectedNamesMax }),
          message: text('The same for people.'),
        },
      ),
    ),
    scores: listOf(
      'The best nodes.',
      record('One node and its score.', {
        node: nameOf('The node.'),
        total: measure('Its score; the largest wins.'),
        parts: mapOf('What each rule contributed.', measure('A part of the score.')),
      }),
    ),
    choices: listOf(
      'Which replica was to go where, and what the authority answered.',
      record(
        'One proposal.',
        {
          replica: nameOf('The replica.'),
          uid: text('Its uid.', { maxLength: 64 }),
          operation: text('The operation it was proposed under.', { maxLength: 253 }),
        },
        {
          node: nameOf('The node it was to go to.'),
          leaving: record(
            'Others leave the node for it first: it is held a place, and bound once they have.',
            {
              count: count('How many.'),
              replicas: listOf('Some of them.', nameOf('A replica that leaves.'), {
                maxItems: leavingNamesMax,
              }),
            },
          ),
          outcome: choice('What the authority answered.', [
            'Committed',
            'AlreadyCommitted',
            'Rejected',
            'UnknownOutcome',
          ]),
          reason: text('Why it was rejected, from the table of reasons.', { maxLength: 253 }),
          attempts: count('How often it was sent.'),
        },
      ),
    ),
    inputs: anything('Enough of what it was decided from to run it again offline.'),
    omitted: text('What was left out because the whole was too large to be kept.'),
  },
);

export type DecisionSpec = Static<typeof spec>;
export type Decision = TypedObject<DecisionSpec, never>;

export const decision = defineKind({
  kind: 'Decision',
  plural: 'decisions',
  singular: 'decision',
  shortNames: ['dec'],
  scope: 'Tenant',
  description:
    'The receipt of one scheduling decision: what was known, what was ruled out and why, what was chosen.',
  spec,
  writers: { spec: 'scheduler', status: 'nobody' },
  keptBy: 'Server',
  isApplied: false,
  columns: [
    column('Workload', 'string', '.spec.workload', 'The workload whose replicas were placed.'),
    column('Result', 'string', '.spec.result', 'Whether they found a place.'),
    column('Reason', 'string', '.spec.reason', 'Why some or all did not.'),
    column('Snapshot', 'string', '.spec.snapshot.revision', 'The revision it was decided on.', 1),
    column('Policy', 'string', '.spec.policyRevision', 'The policy that was applied.', 1),
    ageColumn,
  ],
  selectableFields: [
    'spec.workload',
    'spec.revision',
    'spec.result',
    'spec.choices.replica',
    'spec.choices.node',
  ],
  check: (object, before) => (before === undefined ? [] : checkUnchanged('spec', object.spec, before.spec)),
});
