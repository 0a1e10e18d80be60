import type { BerthObject, ObjectMeta } from '../model/object.js';

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
  const object = { ...stored, metadata: { ...stored.metadata, resourceVersion } };
  return status === undefined ? object : { ...object, status: status.status };
}

/** The two parts of an object as they are stored. */
export function takeApart(object: BerthObject): { stored: StoredObject; status: StoredStatus | undefined } {
  const { status, metadata, ...rest } = object;
  const { resourceVersion: _, ...kept } = metadata;
  const stored = { ...rest, metadata: kept } as StoredObject;
  return { stored, status: status === undefined ? undefined : { status } };
}
