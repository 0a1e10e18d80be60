import type { Static } from 'typebox';
import { defineKind } from '../../model/define-kind.js';
import {
  choice,
  count,
  listByKey,
  listOf,
  mapOf,
  nameOf,
  record,
  schema,
  setOf,
  text,
} from '../../model/fields.js';
import { checkLabelKey, checkLabelValue } from '../../model/labels.js';
import { checkName } from '../../model/names.js';
import type { FieldError } from '../../model/object.js';
import { region } from '../../model/kinds/region.js';
import type { RegionSpec } from '../../model/kinds/region.js';
import { amountFields } from '../../model/parts/amounts.js';
import type { SecondsRange } from '../drivers/hollow-profile.js';
import { leaseSecondsField } from '../lease-seconds.js';

export const nodesMax = 20_000;

const range = (description: string) =>
  schema<SecondsRange>({
    type: 'array',
    items: { type: 'number', minimum: 0, maximum: 86_400 },
    minItems: 2,
    maxItems: 2,
    description: `${description} Least and most, in seconds.`,
  });

const chance = (description: string, maximum: number) =>
  schema<number>({ type: 'number', minimum: 0, maximum, description });

const profile = record(
  'How nodes behave. What is left out is as in the usual profile.',
  {},
  {
    startSeconds: range('From being told to running.'),
    readySeconds: range('From running to ready.'),
    runSeconds: range('How long a Batch replica runs until it succeeds.'),
    stopSeconds: range('From being asked to stop to having stopped.'),
    lagSeconds: range('How late what the node says arrives.'),
    startFailure: chance('The chance that a start fails, from 0 to 1.', 1),
    failuresPerHour: chance('How often in an hour a replica that runs fails by itself.', 3_600),
  },
);

const pool = record(
  'Nodes that are alike.',
  {
    name: nameOf('Its nodes are named after it: NAME-1, NAME-2, …'),
    capacity: record('What each node has.', {}, { cpu: amountFields.cpu, memory: amountFields.memory }),
  },
  {
    count: count('How many nodes. Either this or names.', { minimum: 1, maximum: nodesMax }),
    names: setOf('The nodes by name.', nameOf('A node.')),
    region: nameOf('Where they are. Default "local".'),
    zones: setOf('Their zones, taken in turns. Default "local".', nameOf('A zone.')),
    labels: mapOf('Labels of each node.', text('The value of the label.')),
    taints: listByKey(
      'Keep away replicas that do not tolerate them.',
      ['key', 'effect'],
      record(
        'One taint.',
        {
          key: text('The key of the taint.', { minLength: 1 }),
          effect: choice('What it does.', ['NoSchedule', 'PreferNoSchedule', 'NoExecute']),
        },
        { value: text('The value of the taint.') },
      ),
    ),
    devices: mapOf('How many devices of each class each node has.', count('How many.', { maximum: 1_024 })),
    profile: nameOf('One of the profiles. The usual one if left out.'),
    leaseSeconds: leaseSecondsField,
  },
);

const spec = record(
  'The nodes, where they are and how they behave.',
  { pools: listOf('The pools.', pool, { minItems: 1 }) },
  {
    // The same words as the Region itself.
    regions: mapOf(
      'Regions that are made if they are missing.',
      schema<RegionSpec>({ ...region.fields['spec'] }),
    ),
    profiles: mapOf('Profiles by name.', profile),
  },
);

export type FleetSpec = Static<typeof spec>;
export type PoolSpec = Static<typeof pool>;

/** The form of a fleet file. It is no kind of the API: only who plays nodes reads it. */
export const fleet = defineKind({
  ...{ kind: 'Fleet', plural: 'fleets', singular: 'fleet', scope: 'Cluster', isApplied: false, columns: [] },
  description: 'Hollow nodes to play with.',
  spec,
  writers: { spec: 'nobody', status: 'nobody' },
  check: ({ spec: { pools, regions = {}, profiles = {} } }) => [
    ...Object.keys(regions).flatMap((name) => checkName('spec.regions', name, 'subdomain')),
    ...pools.flatMap((each, index) => checkPool(each, `spec.pools[${index}]`, Object.keys(profiles))),
    ...checkNodes(pools),
  ],
});

function checkPool(each: PoolSpec, path: string, profiles: readonly string[]): FieldError[] {
  const { count: nodes, names, profile: wanted, labels = {}, taints = [] } = each;
  const errors: FieldError[] = [];
  if ((nodes === undefined) === (names === undefined))
    errors.push({ path, reason: 'Invalid', message: 'needs either count or names' });
  if (wanted !== undefined && !profiles.includes(wanted))
    errors.push({
      ...{ path: `${path}.profile`, value: wanted, reason: 'NotSupported' },
      message: `must be one of the profiles of this file: ${profiles.join(', ') || 'there are none'}`,
    });
  for (const [key, value] of Object.entries(labels))
    errors.push(...checkLabelKey(`${path}.labels`, key), ...checkLabelValue(`${path}.labels.${key}`, value));
  for (const [index, { key }] of taints.entries())
    errors.push(...checkLabelKey(`${path}.taints[${index}].key`, key));
  return errors;
}

function checkNodes(pools: readonly PoolSpec[]): FieldError[] {
  const seen = new Set<string>();
  for (const [index, each] of pools.entries())
    for (const value of namesIn(each)) {
      if (seen.has(value))
        return [
          {
            path: `spec.pools[${index}]`,
            value,
            reason: 'Duplicate',
            message: 'another pool has a node of this name',
          },
        ];
      seen.add(value);
    }
  if (seen.size <= nodesMax) return [];
  return [
    {
      path: 'spec.pools',
      reason: 'TooLong',
      message: `must have at most ${nodesMax} nodes in all, has ${seen.size}`,
    },
  ];
}

export const namesIn = ({ name, names, count: nodes = 0 }: PoolSpec): readonly string[] =>
  names ?? Array.from({ length: nodes }, (_, index) => `${name}-${index + 1}`);
