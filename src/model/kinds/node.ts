import type { Static } from 'typebox';
import { ageColumn, column, defineKind, type TypedObject } from '../define-kind.js';
import {
  choice,
  count,
  flag,
  integer,
  listByKey,
  listOf,
  mapOf,
  nameOf,
  record,
  seconds,
  setOf,
  text,
  timestamp,
} from '../fields.js';
import { fillIn } from '../fill-in.js';
import { checkLabelKey, checkLabelValue } from '../labels.js';
import { amountFields } from '../parts/amounts.js';
import { conditions } from '../parts/condition.js';
import { epoch, epochOf } from '../parts/epoch.js';

const spec = record(
  'What the operator says of the machine.',
  {},
  {
    region: nameOf('The region it is in. Default "local".'),
    zone: nameOf('The zone within the region. Default "local".'),
    taints: listByKey(
      'Keep away replicas that do not tolerate them.',
      ['key', 'effect'],
      record(
        'One taint.',
        {
          key: text('The key of the taint, like that of a label.', { minLength: 1 }),
          effect: choice(
            'NoSchedule: no new ones. PreferNoSchedule: rather no new ones. NoExecute: those there leave too.',
            ['NoSchedule', 'PreferNoSchedule', 'NoExecute'],
          ),
        },
        { value: text('The value of the taint.') },
      ),
    ),
    tenants: setOf('Only these tenants; every tenant if empty.', nameOf('A tenant.')),
    unschedulable: flag('No new replicas are placed here. Default false.'),
    drain: record(
      'Everything leaves, within the disruption limits of the workloads.',
      {},
      {
        reason: text('Why, for people.', { maxLength: 1_024 }),
        deadlineSeconds: seconds(
          'After this long the drain is reported as stuck. Not stuck ever if left out.',
        ),
      },
    ),
  },
);

const drain = record(
  'How far its drain has come.',
  {
    state: choice(
      'Draining: it goes on. Stuck: its deadline has passed, and it goes on. Complete: nothing that was bound here runs, for certain, and nothing is held.',
      ['Draining', 'Stuck', 'Complete'],
    ),
    startedAt: timestamp('When it began.'),
  },
  {
    observedGeneration: integer('The generation of the node that this is about.'),
    completedAt: timestamp('When it was complete.'),
    planned: count('How many have to leave and have not been asked to.'),
    releasing: count('How many were asked to stop.'),
    unknown: count('Of how many it is not known whether they run.'),
    released: count('How many have stopped, for certain.'),
    replaced: count('For how many of these another is ready.'),
    message: text('What keeps it from being complete.', { maxLength: 1_024 }),
    replicas: listByKey(
      'Those that were here when it began or came before it was known; what is not done first, 500 at most.',
      ['uid'],
      record(
        'One of them.',
        {
          replica: text('Its tenant and name.', { maxLength: 320 }),
          uid: text('Its uid.', { minLength: 1, maxLength: 64 }),
          workload: nameOf('Its workload.'),
          slot: text('Its slot.', { maxLength: 253 }),
          state: choice(
            'Planned: it will be asked to stop. Blocked: its workload does not let it go yet. Releasing: it was asked. Unknown: it is not known whether it runs. Released: it has stopped. Replaced: and another is ready.',
            ['Planned', 'Blocked', 'Releasing', 'Unknown', 'Released', 'Replaced'],
          ),
        },
        {
          reason: text('Why it is blocked, as one CamelCase word.', { maxLength: 253 }),
          message: text('The same for people.', { maxLength: 1_024 }),
          nextMove: text('Who has to act next.', { maxLength: 253 }),
        },
      ),
      { maxItems: 500 },
    ),
  },
);

const status = record(
  'What the machine offers and what is known of it.',
  {},
  {
    capacity: record('What it has.', {}, amountFields),
    allocatable: record('What of it is for replicas.', {}, amountFields),
    devices: mapOf(
      'Its devices by class.',
      setOf('The devices of this class.', text('The id of a device.', { minLength: 1, maxLength: 253 })),
    ),
    reachability: choice(
      'The last durable verdict. Fresh: heard of in time. Suspect: late. Unknown: its lease has expired. Lost: silent for so long that what could be given away has been. Never that what runs there has stopped.',
      ['Fresh', 'Suspect', 'Unknown', 'Lost'],
    ),
    evidence: record(
      'What the last durable verdict was made from. Written only when the verdict changes.',
      {
        since: timestamp('Since when it stands.'),
        why: text('Why, for people.', { maxLength: 1_024 }),
      },
      {
        arrivals: listOf(
          'How many seconds before that it was heard of, latest first.',
          integer('Seconds.', { minimum: 0 }),
          { maxItems: 16 },
        ),
      },
    ),
    gate: record(
      'Whether new replicas may be bound here.',
      { state: choice('Open or Closed.', ['Open', 'Closed']) },
      { reason: text('Why it is closed.', { maxLength: 253 }), since: timestamp('Since when.') },
    ),
    epoch,
    journalSince: epochOf(
      'The first epoch of the journal that its agent has. What was bound before that its agent need not know of.',
    ),
    attestation: record(
      "A person's word that what ran here under this epoch has stopped. Over when the node registers again or its time is over.",
      {
        by: text('Who says so.', { maxLength: 253 }),
        reason: text('Why they know.', { maxLength: 1_024 }),
        at: timestamp('When it was said.'),
        forSeconds: seconds('How long it counts.'),
        operation: text('The operation that recorded it.', { maxLength: 253 }),
      },
    ),
    lastRenewedAt: timestamp('When its lease was last renewed, for people to read.'),
    agent: record(
      'Its agent.',
      {},
      {
        version: text('The version of Berth.', { maxLength: 253 }),
        address: text('Where it can be reached.', { maxLength: 253 }),
        operatingSystem: text('Its operating system.', { maxLength: 253 }),
        architecture: text('Its architecture.', { maxLength: 253 }),
        drivers: setOf('What it can run.', choice('A driver.', ['process', 'container', 'hollow'])),
        processTenants: setOf(
          'Tenants whose processes it runs; those of every tenant if left out.',
          nameOf('A tenant.'),
        ),
        unenforced: setOf(
          'Limits that its machine does not hold processes to: see the condition LimitsNotEnforced.',
          choice('A limit.', ['memory', 'cpu', 'pids']),
        ),
        fencing: choice('Whether it can keep the fence of AtMostOne processes.', [
          'Supported',
          'Unsupported',
        ]),
      },
    ),
    drain,
    conditions,
  },
);

export type NodeSpec = Static<typeof spec>;
export type NodeStatus = Static<typeof status>;
export type Node = TypedObject<NodeSpec, NodeStatus>;

/** On every node that has registered, until nothing is charged to it: only the authority takes it off, with the node. */
export const chargesFinalizer = 'berth.dev/charges';

/** Everything shall leave it: somebody said so, or it is being deleted. */
export const shallBeEmpty = (one: Node): boolean =>
  one.spec.drain !== undefined || one.metadata.deletionTimestamp !== undefined;

export const node = defineKind({
  kind: 'Node',
  plural: 'nodes',
  singular: 'node',
  shortNames: ['no'],
  scope: 'Cluster',
  description: 'A machine that replicas are placed on.',
  spec,
  status,
  requiredFields: [],
  writers: { spec: 'operator', status: 'agent' },
  isApplied: true,
  columns: [
    column('Reachability', 'string', '.status.reachability', 'The last durable verdict.'),
    column('Schedulable', 'string', schedulable, 'Whether new replicas may come.'),
    column('Region', 'string', '.spec.region', 'Its region.'),
    column('Zone', 'string', '.spec.zone', 'Its zone.'),
    column('CPU', 'string', '.status.allocatable.cpu', 'Cores for replicas.'),
    column('Memory', 'string', '.status.allocatable.memory', 'Memory for replicas.'),
    column('Version', 'string', '.status.agent.version', 'The version of its agent.', 1),
    column(
      'Attested',
      'string',
      '.status.attestation.by',
      'Who gave their word that what ran has stopped.',
      1,
    ),
    column('Address', 'string', '.status.agent.address', 'Where its agent can be reached.', 1),
    ageColumn,
  ],
  selectableFields: ['spec.region', 'spec.zone', 'spec.unschedulable', 'status.reachability'],
  withDefaults: (object) => ({
    ...object,
    spec: fillIn(object.spec, {
      region: 'local',
      zone: 'local',
      taints: [],
      tenants: [],
      unschedulable: false,
    }) as NodeSpec,
  }),
  check: (object) =>
    (object.spec.taints ?? []).flatMap(({ key, value = '' }, index) => [
      ...checkLabelKey(`spec.taints[${index}].key`, key),
      ...checkLabelValue(`spec.taints[${index}].value`, value),
    ]),
});

function schedulable(object: {
  readonly metadata?: Pick<Node['metadata'], 'deletionTimestamp'>;
  readonly spec?: NodeSpec;
  readonly status?: NodeStatus;
}): string {
  if (object.metadata?.deletionTimestamp !== undefined) return 'BeingDeleted';
  if (object.spec?.drain !== undefined) return shownDrain[object.status?.drain?.state ?? 'Draining'];
  if (object.spec?.unschedulable === true) return 'No';
  return object.status?.gate?.state === 'Closed' ? 'GateClosed' : 'Yes';
}

const shownDrain = { Draining: 'Draining', Stuck: 'DrainStuck', Complete: 'Drained' } as const;
