import { Type } from 'typebox';
import { applyConfiguration, type ApplyRequest } from './apply.js';
import type { DraftObject } from './owned-part.js';
import { trackUpdate } from './track-update.js';

const keyed = (...keys: string[]) => ({
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': keys,
});

/** A kind with every form of field, made as kinds are: with TypeBox. */
export const schema = Type.Object({
  spec: Type.Object({
    replicas: Type.Integer(),
    suspend: Type.Boolean(),
    command: Type.Array(Type.String()),
    zones: Type.Array(Type.String(), { 'x-kubernetes-list-type': 'set' }),
    nodeSelector: Type.Record(Type.String(), Type.String()),
    near: Type.Object({ region: Type.String() }, { 'x-kubernetes-map-type': 'atomic' }),
    env: Type.Array(
      Type.Object({ name: Type.String(), value: Type.String(), secret: Type.String() }),
      keyed('name'),
    ),
    ports: Type.Array(
      Type.Object({ number: Type.Integer(), protocol: Type.String({ default: 'TCP' }), name: Type.String() }),
      keyed('number', 'protocol'),
    ),
  }),
  status: Type.Object({
    ready: Type.Integer(),
    conditions: Type.Array(Type.Object({ type: Type.String(), status: Type.String() }), keyed('type')),
  }),
});

export type Fields = Readonly<Record<string, unknown>>;

export const workload = (fields: Fields, metadata: Fields = {}): DraftObject => ({
  apiVersion: 'berth.dev/v1',
  kind: 'Workload',
  metadata: { name: 'web', namespace: 'shop', ...metadata },
  ...fields,
});

/** A time, by which operations are told apart. */
export const at = (minute: number): string => `2026-01-01T00:${String(minute).padStart(2, '0')}:00Z`;

export const apply = (
  live: DraftObject | undefined,
  manager: string,
  config: DraftObject,
  options: Partial<Pick<ApplyRequest, 'force' | 'subresource' | 'now'>> = {},
): ReturnType<typeof applyConfiguration> =>
  applyConfiguration({
    live,
    applied: config,
    manager,
    force: false,
    apiVersion: 'berth.dev/v1',
    now: at(0),
    schema,
    ...options,
  });

/** Applies where no conflict is expected. */
export function applied(...call: Parameters<typeof apply>): DraftObject {
  const outcome = apply(...call);
  if (outcome.kind !== 'Applied') throw new Error(`conflicts: ${JSON.stringify(outcome.conflicts)}`);
  return outcome.object;
}

export const updated = (
  before: DraftObject | undefined,
  manager: string,
  after: DraftObject,
  options: { readonly subresource?: string; readonly now?: string } = {},
): DraftObject =>
  trackUpdate({ before, after, manager, apiVersion: 'berth.dev/v1', now: at(0), schema, ...options });

/** Who manages what, short enough to compare: 'Apply a' → FieldsV1. */
export const managersOf = (object: DraftObject): Fields =>
  Object.fromEntries(
    (object.metadata.managedFields ?? []).map((entry) => [
      [entry.operation, entry.manager, entry.subresource].filter(Boolean).join(' '),
      entry.fieldsV1,
    ]),
  );
