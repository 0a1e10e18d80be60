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
  const object = { ...stored, metadata: plus(stored.metadata, { resourceVersion }) };
  return status === undefined ? object : plus(object, { status: status.status });
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
