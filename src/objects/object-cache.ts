import type { Env } from '../env/env.js';
import { BerthError, isBerthError } from '../model/errors.js';
import type { BerthObject } from '../model/object.js';
import { recordViews, renderRecord, viewOfKey } from '../model/record-views.js';
import {
  asRevision,
  type ChangeSet,
  type Entry,
  type Revision,
  type Store,
  type Watch,
} from '../store/contract.js';
import { WatchBuffer } from '../store/watch-buffer.js';
import { assembleObject, type StoredObject, type StoredStatus } from './assemble.js';
import type { Codec } from './codec.js';
import { everythingRange, isShared, type ObjectKey, parseStoreKey, shownKey } from './keys.js';
import { readPages } from './read-pages.js';
import { SortedKeys } from './sorted-keys.js';

/** An object as the cache holds it, with the revisions that a guarded write needs. */
export interface CachedObject {
  readonly key: ObjectKey;
  readonly object: BerthObject;
  /** Of the key with metadata and spec. */
  readonly specRevision: Revision;
  /** Of the key with the status; undefined if it has none. */
  readonly statusRevision: Revision | undefined;
}

export interface ObjectEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly key: ObjectKey;
  /** After the change; for DELETED the last state, with the revision of the deletion. */
  readonly object: BerthObject;
  readonly before: BerthObject | undefined;
}

/** One key of the store as the cache holds it. The value must not be changed. */
export interface CachedRecord<T = unknown> {
  readonly value: T;
  readonly revision: Revision;
  readonly createRevision: Revision;
}

interface Slot {
  readonly key: ObjectKey;
  stored: CachedRecord<StoredObject> | undefined;
  status: CachedRecord<StoredStatus> | undefined;
  cached: CachedObject | undefined;
}

interface KindIndex {
  readonly slots: Map<string, Slot>;
  // Of the slots that hold an object: a status alone is none.
  readonly keys: SortedKeys;
}

// How many events a watcher may start behind the present. Older ones are Expired: list again.
const eventsKeptMax = 20_000;
const reconnectDelayMs = 200;

/**
 * The only read cache over a store: every object and every record of the authority in memory, fed by one store
 * watch, so that both show one revision. It serves reads, lists and watches.
 *
 * Invariants: the cache shows the state at `revision` exactly. Its watchers see each change of an object once,
 * in order: also when the store's own watch was cut (it resumes after the last revision seen) and when the
 * history it needed was compacted (it lists again and turns the difference into events).
 */
export class ObjectCache {
  readonly #kinds = new Map<string, KindIndex>();
  // By the key of the store, all of them: the authority looks up single keys many times for each operation.
  readonly #records = new Map<string, CachedRecord>();
  readonly #watchers = new Set<WatchBuffer<ObjectEvent>>();
  readonly #waiting = new Set<{ readonly revision: Revision; readonly wake: () => void }>();
  readonly #stop = new AbortController();
  #kept: ChangeSet<ObjectEvent>[] = [];
  #keptEvents = 0;
  // Events up to and including this revision are no longer kept.
  #forgotten = asRevision(0);
  #revision = asRevision(0);
  #following: Promise<void> | undefined;

  constructor(
    private readonly parts: {
      readonly store: Store;
      readonly env: Env;
      readonly codec: Codec;
      /** What is added to a store revision to make a resourceVersion (DESIGN §3). */
      readonly base: number;
    },
  ) {}

  /** The store revision that the cache shows. */
  get revision(): Revision {
    return this.#revision;
  }

  /** The same as clients know it: as a resourceVersion. */
  get version(): number {
    return this.versionOf(this.#revision);
  }

  versionOf(revision: Revision): number {
    return this.parts.base + revision;
  }

  revisionOf(version: number): Revision {
    return asRevision(version - this.parts.base);
  }

  /** Reads everything once, then follows the store until it is closed. */
  async start(): Promise<void> {
    const { store, env } = this.parts;
    // Page by page into the cache: the bytes of all objects together would be most of the memory of an idle server.
    const revision = await readPages(store, everythingRange, env, {
      page: (entries) => {
        for (const entry of entries) {
          const record = this.#setRecord(entry);
          const found = this.#slotOf(entry.key);
          if (found !== undefined) this.#setPart(found, rendered(entry.key, record));
        }
      },
      restart: () => {
        this.#kinds.clear();
        this.#records.clear();
      },
    });
    for (const { slots, keys } of this.#kinds.values()) {
      for (const [key, { stored }] of slots) if (stored !== undefined) keys.add(key);
    }
    this.#revision = this.#forgotten = revision;
    this.#following = this.#follow();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#following;
    for (const watcher of this.#watchers) watcher.end(new BerthError('StoreClosed', 'the cache was closed'));
  }

  get(key: ObjectKey): CachedObject | undefined {
    return this.#cached(this.#kinds.get(key.kind)?.slots.get(sortKey(key)));
  }

  /** What stands under one key of the store, be it part of an object or a record of the authority. */
  record(storedKey: string): CachedRecord | undefined {
    return this.#records.get(storedKey);
  }

  /** What stands under the keys that begin with this, in no order. */
  *records(prefix: string): Generator<readonly [key: string, record: CachedRecord]> {
    for (const entry of this.#records) if (entry[0].startsWith(prefix)) yield entry;
  }

  /** The objects of a kind, in order of tenant and name; of one tenant if given. */
  *list(kind: string, namespace?: string): Generator<CachedObject> {
    const index = this.#kinds.get(kind);
    if (index === undefined) return;
    const { all } = index.keys;
    const { from, to } = index.keys.range(prefixOf(namespace));
    for (let at = from; at < to; at++) {
      const cached = this.#cached(index.slots.get(all[at] as string));
      if (cached !== undefined) yield cached;
    }
  }

  /** How many objects `list` would go through. */
  count(kind: string, namespace?: string): number {
    const range = this.#kinds.get(kind)?.keys.range(prefixOf(namespace));
    return range === undefined ? 0 : range.to - range.from;
  }

  /** How many watchers there are, and how far the slowest of them is behind. */
  watchers(): {
    readonly open: number;
    readonly waitingChangesMax: number;
    readonly revisionsBehindMax: number;
  } {
    let waitingChangesMax = 0;
    let revisionsBehindMax = 0;
    for (const watcher of this.#watchers) {
      if (!watcher.isWaiting) continue;
      waitingChangesMax = Math.max(waitingChangesMax, watcher.waitingChanges);
      revisionsBehindMax = Math.max(revisionsBehindMax, this.#revision - watcher.delivered);
    }
    return { open: this.#watchers.size, waitingChangesMax, revisionsBehindMax };
  }

  /** Resolves when the cache shows this revision or a newer one. */
  notOlderThan(revision: Revision, signal?: AbortSignal): Promise<void> {
    if (this.#revision >= revision) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const waiting = {
        revision,
        wake: (): void => {
          signal?.removeEventListener('abort', abort);
          resolve();
        },
      };
      const abort = (): void => {
        this.#waiting.delete(waiting);
        reject(signal?.reason as Error);
      };
      if (signal?.aborted) return abort();
      signal?.addEventListener('abort', abort, { once: true });
      this.#waiting.add(waiting);
    });
  }

  /** Every event after a revision; ends with Expired if that is too long ago, SlowWatcher, or StoreClosed. */
  watch(options: { after: Revision; signal?: AbortSignal; bufferChangesMax?: number }): Watch<ObjectEvent> {
    const buffer: WatchBuffer<ObjectEvent> = new WatchBuffer<ObjectEvent>(
      options,
      // Objects are in the cache anyway: a waiting event holds little more than itself.
      () => 0,
      () => this.#watchers.delete(buffer),
    );
    if (buffer.isEnded) return buffer;
    if (options.after < this.#forgotten) {
      buffer.end(
        new BerthError(
          'Expired',
          `revision ${options.after} is too old; the cache remembers back to ${this.#forgotten}`,
        ),
      );
      return buffer;
    }
    this.#watchers.add(buffer);
    buffer.prime(this.#kept.filter((set) => set.revision > options.after));
    return buffer;
  }

  async #follow(): Promise<void> {
    const { store, env } = this.parts;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        for await (const sets of store.watch(everythingRange, { after: this.#revision, signal })) {
          for (const set of sets) this.#apply(set);
        }
      } catch (error) {
        if (isBerthError(error, 'StoreClosed')) return;
        const isListed = isBerthError(error, 'Expired') && (await this.#listAgain());
        if (!isListed) await env.sleep(reconnectDelayMs, signal).catch(() => undefined);
      }
    }
  }

  async #listAgain(): Promise<boolean> {
    try {
      const entries: Entry[] = [];
      const revision = await readPages(this.parts.store, everythingRange, this.parts.env, {
        page: (page) => entries.push(...page),
        restart: () => entries.splice(0),
      });
      this.#publish({ revision, changes: this.#replaceAll(entries, revision) });
      return true;
    } catch {
      return false;
    }
  }

  /** Makes the cache show exactly these entries, and tells what that changed. */
  #replaceAll(entries: readonly Entry[], revision: Revision): ObjectEvent[] {
    const touched = new Map<string, { slot: Slot; before: CachedObject | undefined }>();
    const touch = (slot: Slot): void => {
      const shown = shownKey(slot.key);
      if (!touched.has(shown)) touched.set(shown, { slot, before: this.#cached(slot) });
    };
    const present = new Set<string>();
    for (const entry of entries) {
      present.add(entry.key);
      if (this.#records.get(entry.key)?.revision === entry.modRevision) continue;
      const record = this.#setRecord(entry);
      const slot = this.#slotOf(entry.key);
      if (slot === undefined) continue;
      touch(slot.slot);
      this.#setPart(slot, rendered(entry.key, record));
    }
    for (const key of this.#records.keys()) if (!present.has(key)) this.#records.delete(key);
    for (const index of this.#kinds.values()) {
      for (const slot of index.slots.values()) {
        if (slot.stored !== undefined && !present.has(storedUnder(slot.key))) {
          touch(slot);
          slot.stored = undefined;
        }
        if (slot.status !== undefined && !present.has(`/s/${shownKey(slot.key)}`)) {
          touch(slot);
          slot.status = undefined;
        }
      }
    }
    this.#revision = revision;
    return this.#eventsOf(touched.values(), revision);
  }

  #apply(set: ChangeSet): void {
    const touched = new Map<Slot, { slot: Slot; before: CachedObject | undefined }>();
    for (const change of set.changes) {
      const record = change.kind === 'put' ? this.#setRecord(change.entry) : undefined;
      if (change.kind === 'delete') this.#records.delete(change.key);
      const found = this.#slotOf(change.kind === 'put' ? change.entry.key : change.key);
      if (found === undefined) continue;
      const { slot } = found;
      if (!touched.has(slot)) touched.set(slot, { slot, before: this.#cached(slot) });
      this.#setPart(found, rendered(change.kind === 'put' ? change.entry.key : change.key, record));
    }
    this.#revision = set.revision;
    this.#publish({ revision: set.revision, changes: this.#eventsOf(touched.values(), set.revision) });
  }

  #eventsOf(
    touched: Iterable<{ slot: Slot; before: CachedObject | undefined }>,
    revision: Revision,
  ): ObjectEvent[] {
    const events: ObjectEvent[] = [];
    for (const { slot, before } of touched) {
      slot.cached = undefined;
      const after = this.#cached(slot);
      const { key } = slot;
      if (after !== undefined) {
        events.push({
          type: before === undefined ? 'ADDED' : 'MODIFIED',
          key,
          object: after.object,
          before: before?.object,
        });
      } else if (before !== undefined) {
        const metadata = { ...before.object.metadata, resourceVersion: String(this.parts.base + revision) };
        events.push({ type: 'DELETED', key, object: { ...before.object, metadata }, before: before.object });
      }
      if (slot.stored === undefined && slot.status === undefined)
        this.#kinds.get(key.kind)?.slots.delete(sortKey(key));
      const index = this.#kinds.get(key.kind);
      if (before === undefined && after !== undefined) index?.keys.add(sortKey(key));
      if (before !== undefined && after === undefined) index?.keys.delete(sortKey(key));
    }
    return events;
  }

  #publish(set: ChangeSet<ObjectEvent>): void {
    if (set.changes.length > 0) {
      this.#kept.push(set);
      this.#keptEvents += set.changes.length;
      while (this.#keptEvents > eventsKeptMax) {
        const dropped = this.#kept.shift();
        this.#keptEvents -= dropped?.changes.length ?? 0;
        this.#forgotten = dropped?.revision ?? this.#forgotten;
      }
      for (const watcher of this.#watchers) watcher.push([set]);
    }
    for (const waiting of this.#waiting) {
      if (waiting.revision > this.#revision) continue;
      this.#waiting.delete(waiting);
      waiting.wake();
    }
  }

  #slotOf(storedKey: string): { readonly slot: Slot; readonly part: 'o' | 's' } | undefined {
    const parsed = parseStoreKey(storedKey) ?? viewedKey(storedKey);
    if (parsed === undefined) return undefined;
    const { key, part } = parsed;
    let index = this.#kinds.get(key.kind);
    if (index === undefined) {
      index = { slots: new Map(), keys: new SortedKeys() };
      this.#kinds.set(key.kind, index);
    }
    let slot = index.slots.get(sortKey(key));
    if (slot === undefined) {
      slot = { key, stored: undefined, status: undefined, cached: undefined };
      index.slots.set(sortKey(key), slot);
    }
    return { slot, part };
  }

  #setPart({ slot, part }: { slot: Slot; part: 'o' | 's' }, record: CachedRecord | undefined): void {
    slot.cached = undefined;
    // A parsed boundary: only objects are written under these keys.
    if (part === 'o') slot.stored = record as CachedRecord<StoredObject> | undefined;
    else slot.status = record as CachedRecord<StoredStatus> | undefined;
  }

  #setRecord(entry: Entry): CachedRecord | undefined {
    // What the cell keeps for itself (tokens, its certificates, marks) is read where it is needed.
    if (!isShared(entry.key)) return undefined;
    const record = {
      value: this.parts.codec.decode(entry.value),
      revision: entry.modRevision,
      createRevision: entry.createRevision,
    };
    this.#records.set(entry.key, record);
    return record;
  }

  #cached(slot: Slot | undefined): CachedObject | undefined {
    if (slot?.stored === undefined) return undefined;
    slot.cached ??= {
      key: slot.key,
      object: assembleObject(slot.stored.value, slot.status?.value, this.#resourceVersion(slot)),
      specRevision: slot.stored.revision,
      statusRevision: slot.status?.revision,
    };
    return slot.cached;
  }

  #resourceVersion(slot: Slot): string {
    return String(this.parts.base + Math.max(slot.stored?.revision ?? 0, slot.status?.revision ?? 0));
  }
}

// A tenant's name is a DNS label and an object's a DNS name: neither has a slash.
const sortKey = (key: ObjectKey): string => `${key.namespace ?? ''}/${key.name}`;

/** The record that an object is a view of, if it is one. */
const viewedKey = (storedKey: string): { readonly part: 'o'; readonly key: ObjectKey } | undefined => {
  const found = viewOfKey(storedKey);
  return found && { part: 'o', key: { kind: found.view.kind, namespace: undefined, name: found.name } };
};

/** Records that people see as objects are held as those; all others as they are. */
function rendered(storedKey: string, record: CachedRecord | undefined): CachedRecord | undefined {
  const object = record === undefined ? undefined : renderRecord(storedKey, record.value);
  return record === undefined || object === undefined ? record : { ...record, value: object };
}

const storedUnder = (key: ObjectKey): string => {
  const view = recordViews.find(({ kind }) => kind === key.kind);
  return view === undefined ? `/o/${shownKey(key)}` : `${view.prefix}${key.name}`;
};

const prefixOf = (namespace: string | undefined): string => (namespace === undefined ? '' : `${namespace}/`);
