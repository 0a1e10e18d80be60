import type { KindDefinition } from '../model/kind.js';
import { fenceKey, pastEpochKey } from '../model/records.js';
import type { KeyRange } from '../store/contract.js';
import { keysUnder } from '../store/key-range.js';

/** Where an object is: its kind, its tenant (none for cluster scope) and its name. */
export interface ObjectKey {
  readonly kind: string;
  readonly namespace: string | undefined;
  readonly name: string;
}

/** The two store keys of an object: metadata and spec in one, status in the other (DESIGN §5). */
export type ObjectPart = 'o' | 's';

// Cluster scope: no tenant can have this name.
const noNamespace = '_';

/** An object's key among those of its kind. Sorts as lists are sorted: by tenant, then by name. */
export const listKeyOf = (namespace: string | undefined, name: string): string =>
  `${namespace ?? noNamespace}/${name}`;

export const storeKey = (part: ObjectPart, key: ObjectKey): string =>
  `/${part}/${key.kind}/${key.namespace ?? noNamespace}/${key.name}`;

/** All keys of one part of a kind, of one tenant or of all. */
export const kindRange = (part: ObjectPart, kind: KindDefinition, namespace?: string): KeyRange =>
  keysUnder(
    `/${part}/${kind.kind}/${kind.scope === 'Cluster' ? `${noNamespace}/` : namespace === undefined ? '' : `${namespace}/`}`,
  );

/** Every key there is: one watch feeds the cache. */
export const everythingRange: KeyRange = keysUnder('/');

/** A key among them that is no object's. A reader of a watch that has seen a write of it has seen every change before it. */
export const markKey = '/p/mark';
/** Like every value, one that is JSON. */
export const markValue: Uint8Array = Buffer.from('null');

/** Objects and records of the authority, as against what the cell knows of itself. */
export const isShared = (storedKey: string): boolean =>
  /^\/[aelost]\//.test(storedKey) || storedKey === fenceKey || storedKey === pastEpochKey;

export function parseStoreKey(
  storedKey: string,
): { readonly part: ObjectPart; readonly key: ObjectKey } | undefined {
  const part = storedKey[1];
  if ((part !== 'o' && part !== 's') || storedKey[2] !== '/') return undefined;
  // Not split: this is asked of every key that comes.
  const kindEnd = storedKey.indexOf('/', 3);
  const tenantEnd = storedKey.indexOf('/', kindEnd + 1);
  if (kindEnd === -1 || tenantEnd === -1 || storedKey.includes('/', tenantEnd + 1)) return undefined;
  const namespace = storedKey.slice(kindEnd + 1, tenantEnd);
  return {
    part,
    key: {
      kind: storedKey.slice(3, kindEnd),
      namespace: namespace === noNamespace ? undefined : namespace,
      name: storedKey.slice(tenantEnd + 1),
    },
  };
}

/** A key as one string, for maps. Sorts as lists are sorted: by tenant, then by name. */
export const shownKey = (key: ObjectKey): string => `${key.kind}/${key.namespace ?? noNamespace}/${key.name}`;
