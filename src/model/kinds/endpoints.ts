import type { Static } from 'typebox';
import { ageColumn, column, defineKind, type TypedObject } from '../define-kind.js';
import { choice, count, integer, listByKey, mapOf, nameOf, record, text } from '../fields.js';
import { conditions } from '../parts/condition.js';

const status = record(
  'Where the serving replicas are.',
  {},
  {
    observedGeneration: integer('The generation of the workload that this is about.'),
    addresses: listByKey(
      'One entry per serving replica.',
      ['replica'],
      record(
        'One serving replica.',
        {
          replica: nameOf('The replica.'),
          node: nameOf('The node it is on.'),
          address: text('Where it listens.', { minLength: 1, maxLength: 253 }),
        },
        {
          region: nameOf('The region of the node.'),
          zone: nameOf('The zone of the node.'),
          ports: mapOf('Its ports by name.', count('A port number.', { minimum: 1, maximum: 65_535 })),
          fence: text('The token of this incarnation.', { maxLength: 64 }),
        },
      ),
      { maxItems: 10_000 },
    ),
    source: choice(
      'Current: as the replicas are now. LastKnown: kept as they were, because too many nodes are silent at once.',
      ['Current', 'LastKnown'],
    ),
    conditions,
  },
);

export type EndpointsStatus = Static<typeof status>;
export type Endpoints = TypedObject<never, EndpointsStatus>;

export const endpoints = defineKind({
  kind: 'Endpoints',
  plural: 'endpoints',
  singular: 'endpoints',
  shortNames: ['ep'],
  scope: 'Tenant',
  description: "Where a service's serving replicas are. Has the name of its workload.",
  status,
  writers: { spec: 'nobody', status: 'endpoints-controller' },
  isApplied: false,
  columns: [
    column('Addresses', 'string', addresses, 'Where the serving replicas listen.'),
    column('Source', 'string', '.status.source', 'Current, or kept as last known.'),
    ageColumn,
  ],
});

const addressesShown = 3;

function addresses(object: { readonly status?: EndpointsStatus }): string {
  const all = (object.status?.addresses ?? []).flatMap(({ address, ports = {} }) => {
    const numbers = Object.values(ports);
    return numbers.length === 0 ? [address] : numbers.map((port) => `${address}:${port}`);
  });
  const rest = all.length - addressesShown;
  return rest > 0 ? `${all.slice(0, addressesShown).join(',')} + ${rest} more` : all.join(',');
}
