import type { Static } from 'typebox';
import { ageColumn, column, defineKind, type TypedObject } from '../define-kind.js';
import {
  choice,
  count,
  flag,
  integer,
  listOf,
  mapOf,
  nameOf,
  record,
  seconds,
  text,
  timestamp,
} from '../fields.js';
import { checkUnchanged } from '../immutable.js';
import { charge } from '../parts/charge.js';
import { conditions } from '../parts/condition.js';
import { epoch, epochOf } from '../parts/epoch.js';
import { stages } from '../stages.js';

/** How many transitions a replica remembers. Older ones are dropped, and their operation ids with them. */
export const transitionsMax = 16;

const spec = record(
  'Which incarnation of which slot it is. Never changes.',
  {
    workload: nameOf('The workload it belongs to.'),
    slot: text('Its slot: a number for Service and Batch, the name of a node for Daemon.', {
      minLength: 1,
      maxLength: 253,
    }),
    incarnation: integer('The how-manieth holder of the slot it is.', { minimum: 1 }),
    revision: nameOf('The WorkloadRevision with its template.'),
  },
  { gang: nameOf('The gang it starts with, if any.') },
);

const binding = record(
  'Where it was bound. A replica is bound at most once.',
  {
    node: nameOf('The node.'),
    nodeEpoch: epoch,
    fence: text('The token that orders incarnations of the slot at a resource: BERTH_FENCE.', {
      maxLength: 64,
    }),
    receipt: record(
      'What the binding was decided from.',
      {
        snapshotRevision: text('The resourceVersion the scheduler looked at.', { maxLength: 64 }),
        policyRevision: text('The policy it applied.', { maxLength: 253 }),
        operation: text('The operation that committed it.', { maxLength: 253 }),
      },
      { decision: text('The Decision that explains it.', { maxLength: 253 }) },
    ),
  },
  {
    isFenced: flag(
      'It runs only as long as an acknowledged renewal permits, as its workload asked for when it was bound. Whatever the workload says later, an expired fence proves its end only if this is so.',
    ),
    knownSince: epochOf(
      'The epoch since which the journal of its node has it, if that was lost since and its agent has said so.',
    ),
  },
);

const transition = record(
  'One move from stage to stage.',
  {
    to: choice('The stage it moved to.', stages),
    actor: text('Who moved it.', { maxLength: 253 }),
    reason: text('Why, as one CamelCase word.', { maxLength: 253 }),
    revision: text('The resourceVersion that the move was decided from.', { maxLength: 64 }),
    at: timestamp('When, for people to read.'),
    operation: text('The operation that moved it; the same operation never moves it twice.', {
      maxLength: 253,
    }),
  },
  {
    from: choice('The stage it came from; none for the first.', stages),
    epoch,
    evidence: mapOf('What the actor knew.', text('One piece of evidence.')),
  },
);

const status = record(
  'Where it is on its way.',
  { stage: choice('The stage it is at.', stages) },
  {
    binding,
    charge,
    intent: record(
      'That it shall be released, by whom and why. Survives that its node is lost.',
      {
        actor: text('Who asked for it.', { maxLength: 253 }),
        reason: text('Why, as one CamelCase word.', { maxLength: 253 }),
        operation: text('The operation that asked for it.', { maxLength: 253 }),
        at: timestamp('When it was asked for.'),
      },
      { graceSeconds: seconds('How long it gets to stop.'), message: text('Why, for people.') },
    ),
    decision: text(
      'While it waits: the Decision that found no place for it, for the reason its condition says.',
      {
        maxLength: 253,
      },
    ),
    hold: nameOf('The Reservation it is Scheduled on.'),
    awaitedBy: text('The Reservation that gets what it frees, since it was preempted for it: tenant/name.', {
      maxLength: 320,
    }),
    step: text('What its agent is doing now: pulling the image, waiting for a probe.', { maxLength: 253 }),
    executions: count('How often it was started on its node.'),
    exitCode: integer('The exit code of the last execution.', { minimum: -256, maximum: 65_535 }),
    driverId: text("The driver's id of what runs.", { maxLength: 253 }),
    address: text('The address it listens at.', { maxLength: 253 }),
    readiness: record(
      'What its readiness probe says. Passing, if left out, since it got Ready.',
      { isPassing: flag('Whether it can take traffic.') },
      { message: text('Why not.') },
    ),
    isListed: flag(
      'It may be among the addresses of its service: from Serving until the Endpoints are published without it. While so it is not asked to stop, for a bounded time.',
    ),
    ports: mapOf('Its ports by name.', count('A port number.', { minimum: 1, maximum: 65_535 })),
    message: text('What people should know of its stage.'),
    conditions,
    transitions: listOf(`Its last ${transitionsMax} moves, oldest first.`, transition, {
      maxItems: transitionsMax,
    }),
  },
);

export type ReplicaSpec = Static<typeof spec>;
export type ReplicaStatus = Static<typeof status>;
export type ReplicaBinding = Static<typeof binding>;
export type ReplicaTransition = Static<typeof transition>;
export type Replica = TypedObject<ReplicaSpec, ReplicaStatus>;

export const replica = defineKind({
  kind: 'Replica',
  plural: 'replicas',
  singular: 'replica',
  shortNames: ['rep'],
  categories: ['all'],
  scope: 'Tenant',
  description: "One slot's current incarnation: the unit that is placed, started, watched and released.",
  spec,
  status,
  writers: { spec: 'workload-controller', status: 'commit' },
  isApplied: false,
  columns: [
    column('Workload', 'string', '.spec.workload', 'The workload it belongs to.', 1),
    column('Slot', 'string', '.spec.slot', 'Its slot.', 1),
    column('Stage', 'string', '.status.stage', 'The stage it is at.'),
    column('Node', 'string', '.status.binding.node', 'The node it is bound to.'),
    column('Executions', 'integer', '.status.executions', 'How often it was started there.'),
    column('Revision', 'string', '.spec.revision', 'The revision of its template.', 1),
    column('Message', 'string', '.status.message', 'What people should know of its stage.', 1),
    ageColumn,
  ],
  selectableFields: ['spec.workload', 'spec.slot', 'spec.revision', 'status.stage', 'status.binding.node'],
  check: (object, before) => (before === undefined ? [] : checkUnchanged('spec', object.spec, before.spec)),
});
