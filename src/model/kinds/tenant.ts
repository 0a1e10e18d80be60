import type { Static } from 'typebox';
import { ageColumn, column, defineKind, type TypedObject } from '../define-kind.js';
import { count, integer, nameOf, record, setOf, text } from '../fields.js';
import { fillIn } from '../fill-in.js';
import type { FieldError } from '../object.js';
import { amountFields } from '../parts/amounts.js';
import { conditions } from '../parts/condition.js';
import { compareQuantities, parseQuantity } from '../quantity.js';

const limitFields = { ...amountFields, replicas: count('How many replicas that have not ended.') };

const spec = record(
  'What the tenant may have.',
  {},
  {
    guaranteed: record(
      'What it gets whenever it needs it; lent to others only while it does not.',
      {},
      amountFields,
    ),
    limit: record('The most it may have. A resource that is not named is not limited.', {}, limitFields),
    weight: count('Its share of what is contended, beside the weights of others. Default 1.', {
      minimum: 1,
      maximum: 1_000_000,
    }),
    priorityClasses: setOf(
      'The priority classes it may use; every one if empty.',
      nameOf('A priority class.'),
    ),
    residency: setOf(
      'The jurisdictions its work must stay in; anywhere if empty. A workload can only narrow it.',
      text('A jurisdiction, as regions name it: EU.', { minLength: 1, maxLength: 63 }),
    ),
  },
);

const status = record(
  'What is committed to it.',
  {},
  {
    observedGeneration: integer('The generation of the spec that this status is about.'),
    grant: record('What this cell may commit for it.', {}, limitFields),
    used: record('What its replicas and holds are charged with.', {}, limitFields),
    borrowed: record('What of that is above its guarantee.', {}, amountFields),
    lost: record('What lost replicas that were replaced may still use; outside the limit.', {}, limitFields),
    conditions,
  },
);

export type TenantSpec = Static<typeof spec>;
export type TenantStatus = Static<typeof status>;
export type Tenant = TypedObject<TenantSpec, TenantStatus>;

function checkLimits({ guaranteed = {}, limit = {} }: TenantSpec): FieldError[] {
  const below = (
    path: string,
    least: string | number | undefined,
    most: string | number | undefined,
  ): FieldError[] =>
    least === undefined ||
    most === undefined ||
    compareQuantities(parseQuantity(most), parseQuantity(least)) >= 0
      ? []
      : [
          {
            path,
            value: most,
            reason: 'Invalid',
            message: `must be at least what is guaranteed, which is ${least}`,
          },
        ];
  const limited = new Map(Object.entries(limit.devices ?? {}));
  return [
    ...below('spec.limit.cpu', guaranteed.cpu, limit.cpu),
    ...below('spec.limit.memory', guaranteed.memory, limit.memory),
    ...Object.entries(guaranteed.devices ?? {}).flatMap(([name, least]) =>
      below(`spec.limit.devices[${name}]`, least, limited.get(name)),
    ),
  ];
}

export const tenant = defineKind({
  kind: 'Tenant',
  plural: 'tenants',
  singular: 'tenant',
  shortNames: ['ten'],
  scope: 'Cluster',
  nameForm: 'label',
  description: 'Who owns work, and how much of the machines they may have. A namespace is a tenant.',
  spec,
  status,
  requiredFields: [],
  writers: { spec: 'operator', status: 'commit' },
  isApplied: true,
  columns: [
    column('Weight', 'integer', '.spec.weight', 'Its share of what is contended.'),
    column('CPU-Used', 'string', '.status.used.cpu', 'Cores in use.'),
    column('CPU-Limit', 'string', '.spec.limit.cpu', 'The most cores.'),
    column('Memory-Used', 'string', '.status.used.memory', 'Memory in use.'),
    column('Memory-Limit', 'string', '.spec.limit.memory', 'The most memory.'),
    column('Replicas', 'integer', '.status.used.replicas', 'Replicas that have not ended.', 1),
    ageColumn,
  ],
  withDefaults: (object) => ({
    ...object,
    spec: fillIn(object.spec, { weight: 1, priorityClasses: [], residency: [] }) as TenantSpec,
  }),
  check: (object) => checkLimits(object.spec),
});
