import type { BerthObject, ObjectMeta } from '../model/object.js';
import { plus } from '../model/plus.js';

/** What stands under /o: the object without its status and without what its key and revision say. */
export interface StoredObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Omit<ObjectMeta, 'resourceVersion'>;
  readonly [field: string]: unknown;
}

/** What stands under /s. */
export interface StoredStatus {
  readonly status: Readonly<Record<string, unknown>>;
}

export function assembleObject(
  stored: StoredObject,
  status: StoredStatus | undefined,
  resourceVersion: string,
): BerthObject {
  const metadata = withVersion(stored.metadata, resourceVersion);
  const { apiVersion, kind } = stored;
  // A parsed boundary: what is stored was admitted.
  const spec = stored['spec'] as BerthObject['spec'];
  if (status !== undefined && spec !== undefined && fieldsOf(stored) === plainFields)
    return { apiVersion, kind, metadata, spec, status: status.status };
  const object = { ...stored, metadata };
  return status === undefined ? object : plus(object, { status: status.status });
}

// An object of most kinds: apiVersion, kind, metadata and spec.
const plainFields = 4;
// The metadata of what a controller made for its owner, as replicas are.
const ownedFields = 8;

/**
 * Objects are put together for every change that somebody looks at, and there are very many replicas: what most of them
 * look like is written out, since what is spread in has its fields in a list of its own.
 */
function withVersion(metadata: StoredObject['metadata'], resourceVersion: string): ObjectMeta {
  const { name, namespace, uid, generation, creationTimestamp, labels, ownerReferences, finalizers } =
    metadata;
  if (
    namespace !== undefined &&
    labels !== undefined &&
    ownerReferences !== undefined &&
    finalizers !== undefined &&
    fieldsOf(metadata) === ownedFields
  )
    return {
      name,
      namespace,
      uid,
      generation,
      creationTimestamp,
      labels,
      ownerReferences,
      finalizers,
      resourceVersion,
    };
  return plus(metadata, { resourceVersion });
}

function fieldsOf(object: object): number {
  let fields = 0;
  for (const _ in object) fields += 1;
  return fields;
}

/** The two parts of an object as they are stored. */
export function takeApart(object: BerthObject): { stored: StoredObject; status: StoredStatus | undefined } {
  const { apiVersion, kind, metadata, status, ...rest } = object;
  const { resourceVersion: _, ...kept } = metadata;
  const stored: StoredObject = { apiVersion, kind, metadata: kept, ...rest };
  return { stored, status: status === undefined ? undefined : { status } };
}

const metadataStart = '"metadata":{';

/**
 * The JSON of a new object as its creator sees it, made from the JSON it is stored as instead of encoding it again:
 * all that is stored is there but the version. The first metadata are the object's own, after `takeApart`.
 */
export function shownJson(storedJson: string, resourceVersion: string): string {
  const at = storedJson.indexOf(metadataStart) + metadataStart.length;
  return `${storedJson.slice(0, at)}"resourceVersion":"${resourceVersion}",${storedJson.slice(at)}`;
}
