import type { Static } from 'typebox';
import { ageColumn, column, defineKind, type TypedObject } from '../define-kind.js';
import { count, mapOf, nameOf, record, setOf, text } from '../fields.js';
import { fillIn } from '../fill-in.js';
import { conditions } from '../parts/condition.js';
import { checkName } from '../names.js';

const spec = record(
  'Where it is and what it consists of.',
  {},
  {
    jurisdiction: text(
      'Whose law holds there: EU, US. A tenant with residency stays out of a region without one.',
      {
        minLength: 1,
        maxLength: 63,
      },
    ),
    zones: setOf('Its zones: parts that do not fail together.', nameOf('A zone.')),
    latencyMs: mapOf(
      'How long a round trip to other regions takes, in milliseconds.',
      count('Milliseconds.', { maximum: 60_000 }),
    ),
  },
);

const status = record('What is known of it.', {}, { conditions });

export type RegionSpec = Static<typeof spec>;
export type RegionStatus = Static<typeof status>;
export type Region = TypedObject<RegionSpec, RegionStatus>;

export const region = defineKind({
  kind: 'Region',
  plural: 'regions',
  singular: 'region',
  shortNames: ['reg'],
  scope: 'Cluster',
  description: 'A place with machines: its jurisdiction, its zones, and how far it is from others.',
  spec,
  status,
  requiredFields: [],
  writers: { spec: 'operator', status: 'commit' },
  isApplied: true,
  columns: [
    column('Jurisdiction', 'string', '.spec.jurisdiction', 'Whose law holds there.'),
    column('Zones', 'string', zones, 'Its zones.'),
    ageColumn,
  ],
  selectableFields: ['spec.jurisdiction'],
  withDefaults: (object) => ({
    ...object,
    spec: fillIn(object.spec, { zones: [], latencyMs: {} }) as RegionSpec,
  }),
  check: (object) =>
    Object.keys(object.spec.latencyMs ?? {}).flatMap((name) =>
      checkName('spec.latencyMs', name, 'subdomain'),
    ),
});

function zones(object: { readonly spec?: RegionSpec }): string {
  return (object.spec?.zones ?? []).join(',');
}
