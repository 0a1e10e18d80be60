import { viewOfKey } from '../model/record-views.js';
import type { CachedObject, CachedRecord } from './cached-object.js';
import { listKeyOf, type ObjectKey, parseStoreKey } from './keys.js';
import { SortedKeys } from './sorted-keys.js';

/** Where an object is in the cache: the records that it is made of. It is the same one for as long as either is there. */
export interface Slot {
  readonly key: ObjectKey;
  /** Its key among those of its kind, in the order of lists. */
  readonly listKey: string;
  stored: CachedRecord | undefined;
  status: CachedRecord | undefined;
  cached: CachedObject | undefined;
  /** Lists have it, and watchers were told of it. */
  isListed: boolean;
  /** The last time that changes were taken in which touched it, and while they are what there was before. */
  touchedBy: number;
  before: CachedObject | undefined;
}

interface KindSlots {
  readonly slots: Map<string, Slot>;
  // Of the slots that hold an object: a status alone is none.
  readonly keys: SortedKeys;
  // Asked for last, while it is there: the parts of an object come one after the other, and several that are told of a
  // change ask for the same node.
  last: Slot | undefined;
}

// Names of tenants that are gone are forgotten with all others; those that are met again cost a string each.
const textsMax = 100_000;

/** The slots of all objects, by kind, and in the order of lists. */
export class ObjectSlots {
  readonly #kinds = new Map<string, KindSlots>();
  // One string for a kind or tenant, however many keys have it in them.
  readonly #texts = new Map<string, string>();

  clear(): void {
    this.#kinds.clear();
  }

  get({ kind, namespace, name }: ObjectKey): Slot | undefined {
    const index = this.#kinds.get(kind);
    return index === undefined ? undefined : slotIn(index, namespace, name);
  }

  /** The slot that a record belongs to, made if it is not there; undefined if it is no part of an object. */
  of(storedKey: string): Slot | undefined {
    const key = parseStoreKey(storedKey)?.key ?? viewedKey(storedKey);
    if (key === undefined) return undefined;
    const index = this.#kind(key.kind);
    let slot = slotIn(index, key.namespace, key.name);
    if (slot === undefined) {
      const listKey = listKeyOf(key.namespace, key.name);
      const kind = this.#text(key.kind);
      const namespace = key.namespace === undefined ? undefined : this.#text(key.namespace);
      slot = {
        key: { kind, namespace, name: key.name },
        listKey: storedKey.endsWith(listKey) ? storedKey.slice(-listKey.length) : listKey,
        stored: undefined,
        status: undefined,
        cached: undefined,
        isListed: false,
        touchedBy: 0,
        before: undefined,
      };
      index.slots.set(slot.listKey, slot);
      index.last = slot;
    }
    return slot;
  }

  /** An object may have come to a slot, or gone from it; with its last record the slot goes too. */
  changed(slot: Slot): void {
    const index = this.#kind(slot.key.kind);
    const { slots, keys } = index;
    const isThere = slot.stored !== undefined;
    if (!isThere && slot.status === undefined) {
      slots.delete(slot.listKey);
      index.last = undefined;
    }
    if (isThere === slot.isListed) return;
    slot.isListed = isThere;
    if (isThere) keys.add(slot.listKey);
    else keys.delete(slot.listKey);
  }

  *all(): Generator<Slot> {
    for (const { slots } of this.#kinds.values()) yield* slots.values();
  }

  /** Those of a kind that hold an object, in order of tenant and name; of one tenant if given. */
  *list(kind: string, namespace: string | undefined): Generator<Slot> {
    const index = this.#kinds.get(kind);
    if (index === undefined) return;
    const { all } = index.keys;
    const { from, to } = index.keys.range(prefixOf(namespace));
    for (let at = from; at < to; at++) {
      const slot = index.slots.get(all[at] as string);
      if (slot !== undefined) yield slot;
    }
  }

  count(kind: string, namespace: string | undefined): number {
    const range = this.#kinds.get(kind)?.keys.range(prefixOf(namespace));
    return range === undefined ? 0 : range.to - range.from;
  }

  #kind(kind: string): KindSlots {
    let index = this.#kinds.get(kind);
    if (index === undefined) {
      index = { slots: new Map(), keys: new SortedKeys(), last: undefined };
      this.#kinds.set(kind, index);
    }
    return index;
  }

  #text(text: string): string {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    if (this.#texts.size >= textsMax) this.#texts.clear();
    this.#texts.set(text, text);
    return text;
  }
}

function slotIn(index: KindSlots, namespace: string | undefined, name: string): Slot | undefined {
  const { last } = index;
  if (last !== undefined && last.key.name === name && last.key.namespace === namespace) return last;
  const slot = index.slots.get(listKeyOf(namespace, name));
  if (slot !== undefined) index.last = slot;
  return slot;
}

/** The object that a record is seen as, if it is seen as one. */
const viewedKey = (storedKey: string): ObjectKey | undefined => {
  const found = viewOfKey(storedKey);
  return found && { kind: found.view.kind, namespace: undefined, name: found.name };
};

const prefixOf = (namespace: string | undefined): string => (namespace === undefined ? '' : `${namespace}/`);
