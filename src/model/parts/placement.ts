import type { Static } from 'typebox';
import { choice, count, listOf, mapOf, nameOf, record, seconds, setOf, text } from '../fields.js';
import { labelSelector } from './selector.js';

const topology = choice('How near counts as together: on one node, in one zone, or in one region.', [
  'Node',
  'Zone',
  'Region',
]);
const mode = choice(
  'Required: a placement that breaks it is refused. Preferred: it only scores. Default Required.',
  ['Required', 'Preferred'],
);
const weight = count('How much a preference counts beside others. Default 1.', { minimum: 1, maximum: 100 });

const neighbours = (description: string) =>
  listOf(
    description,
    record('One rule about neighbours.', { topology }, { selector: labelSelector, mode, weight }),
    { maxItems: 32 },
  );

/** Where replicas may and should run. Hard rules are checked again when a placement is committed. */
export const placement = record(
  'Where replicas may run (hard, checked again at commit) and should run (preferences).',
  {},
  {
    regions: setOf(
      "Only these regions; every region if left out or empty. It can only narrow the tenant's residency.",
      nameOf('A region.'),
    ),
    zones: setOf('Only these zones; every zone if left out or empty.', nameOf('A zone.')),
    nodeSelector: mapOf('Labels that a node must have.', text('The value of the label.'), 'label'),
    near: record(
      'Prefer nodes near a region.',
      { region: nameOf('The region to be near to.') },
      {
        maxLatencyMs: count('From this latency on, nearer no longer counts. No bound if left out.', {
          minimum: 1,
        }),
      },
    ),
    affinity: neighbours(
      'Place together with the replicas that a selector finds. Required holds when it is placed; best effort across workloads.',
    ),
    antiAffinity: neighbours(
      'Keep apart from the replicas that a selector finds; from the other replicas of this workload if there is no selector.',
    ),
    spread: listOf(
      'Spread the replicas of this workload evenly.',
      record(
        'One rule of even spreading.',
        { topology },
        {
          maxSkew: count('How many more one domain may have than another. Default 1.', { minimum: 1 }),
          mode,
          weight,
        },
      ),
      { maxItems: 8 },
    ),
    tolerations: listOf(
      'Taints of nodes that do not keep these replicas away.',
      record(
        'Which taints are tolerated.',
        {},
        {
          key: text('The key of the taint; every taint if left out, with operator Exists.', {
            maxLength: 317,
          }),
          operator: choice('Equal compares the value, Exists does not. Default Equal.', ['Equal', 'Exists']),
          value: text('The value the taint must have, for Equal.', { maxLength: 63 }),
          effect: choice('Only taints with this effect; every effect if left out.', [
            'NoSchedule',
            'PreferNoSchedule',
            'NoExecute',
          ]),
        },
      ),
      { maxItems: 64 },
    ),
    freshness: record(
      'How old what is known of a node may be when it is chosen.',
      {},
      {
        maxNodeAgeSeconds: seconds('The greatest age of the last sign of the node. Default 15.', {
          minimum: 1,
        }),
        onStale: choice(
          'What to do when every suitable node is older. Wait is the default of AtMostOne, Bind of AtLeastOne.',
          ['Wait', 'Bind'],
        ),
      },
    ),
    authority: choice(
      'Whose word a placement needs. Global: held while the cell is cut off. Regional: placed within the grant of the cell. Provisional: placed under a lease, stops unless confirmed. Default Regional.',
      ['Global', 'Regional', 'Provisional'],
    ),
  },
);

export type Placement = Static<typeof placement>;
