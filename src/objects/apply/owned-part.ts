import type { ManagedFieldsEntry, ObjectMeta } from '../../model/object.js';
import { plus } from '../../model/plus.js';
import { isRecord, own } from './schema-facts.js';

/** An object on its way to admission: what the server fills in may be missing, and nothing is checked yet. */
export interface DraftObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Partial<ObjectMeta>;
  readonly [field: string]: unknown;
}

/** An object's identity and what the server alone writes: nobody manages it, and applying it says nothing. */
const neverOwned: readonly string[] = [
  'name',
  'namespace',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'managedFields',
  'selfLink',
];

const metadataSchema = {
  properties: {
    labels: {},
    annotations: {},
    finalizers: { 'x-kubernetes-list-type': 'set' },
    ownerReferences: { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['uid'] },
  },
};

/** The schema of a kind's own fields, with that of the metadata all kinds share. */
export function withMetadataSchema(schema: unknown): unknown {
  if (!isRecord(schema)) return { properties: { metadata: metadataSchema } };
  let whole = wholeSchemas.get(schema);
  if (whole === undefined) {
    whole = { properties: { metadata: metadataSchema }, allOf: [schema] };
    wholeSchemas.set(schema, whole);
  }
  return whole;
}

// One per kind, so that what shape.ts remembers of a schema is found again.
const wholeSchemas = new WeakMap<object, object>();

const ordinary = { enumerable: true, configurable: true, writable: true };

type Fields = Readonly<Record<string, unknown>>;

function pick(fields: unknown, isWanted: (name: string) => boolean): Fields {
  if (!isRecord(fields)) return {};
  const picked: Record<string, unknown> = {};
  for (const name of Object.keys(fields)) {
    const value = fields[name];
    if (value === undefined || !isWanted(name)) continue;
    // Assigned, this name would not become a field but the prototype.
    if (name === '__proto__') Object.defineProperty(picked, name, { value, ...ordinary });
    else picked[name] = value;
  }
  return picked;
}

/** The fields of an object that can have a manager. */
export function ownedPart(object: DraftObject | undefined): Fields {
  if (object === undefined) return { metadata: {} };
  return {
    ...pick(object, (name) => !['apiVersion', 'kind'].includes(name)),
    metadata: pick(object.metadata, (name) => !neverOwned.includes(name)),
  };
}

/** What a configuration states when it is applied to an object or one of its subresources: status is apart. */
export function statedPart(applied: DraftObject, subresource: string | undefined): Fields {
  const part = ownedPart(applied);
  if (subresource === 'status') return pick(part, (name) => name === 'status');
  const hasMetadata = Object.keys(part['metadata'] ?? {}).length > 0;
  return pick(part, (name) => name !== 'status' && (name !== 'metadata' || hasMetadata));
}

export function withManagedFields<T extends DraftObject>(
  object: T,
  managedFields: readonly ManagedFieldsEntry[],
): T {
  const { managedFields: _, ...rest } = object.metadata;
  const metadata = managedFields.length === 0 ? rest : plus(rest, { managedFields });
  return { ...object, metadata };
}

/** The object that has this owned part, and its identity from the live object or else from what was applied. */
export function assemble(
  part: unknown,
  live: DraftObject | undefined,
  applied: DraftObject,
  managedFields: readonly ManagedFieldsEntry[],
): DraftObject {
  const identity =
    live === undefined
      ? pick(applied.metadata, (name) => name === 'name' || name === 'namespace')
      : pick(live.metadata, (name) => neverOwned.includes(name));
  // Admission checks the shape of what people applied; until then this is an object by name only.
  const metadata = { ...identity, ...pick(own(part, 'metadata'), () => true) } as Partial<ObjectMeta>;
  const { apiVersion, kind } = live ?? applied;
  const rest = pick(part, (name) => !['apiVersion', 'kind', 'metadata'].includes(name));
  return withManagedFields({ apiVersion, kind, metadata, ...rest }, managedFields);
}
