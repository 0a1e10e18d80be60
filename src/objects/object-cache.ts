import type { Env } from '../env/env.js';
import { BerthError, isBerthError } from '../model/errors.js';
import type { Versions } from '../model/versions.js';
import {
  asRevision,
  type ChangeSet,
  type Entry,
  type Revision,
  type Store,
  type Watch,
} from '../store/contract.js';
import { WatchBuffer } from '../store/watch-buffer.js';
import { CachedObject, type CachedRecord, CacheEvent, type ObjectEvent } from './cached-object.js';
import type { Codec } from './codec.js';
import { EventHistory } from './event-history.js';
import { everythingRange, isShared, type ObjectKey } from './keys.js';
import { ObjectSlots, type Slot } from './object-slots.js';
import { recentChanges } from './recent-changes.js';
import { readPages } from './read-pages.js';

/** Keeps the way to its slot, so that the key is taken apart once and not with every change. */
interface HeldRecord extends CachedRecord {
  readonly slot: Slot | undefined;
}

/** Told of every change of a record while it is taken in: be quick, never throw. Undefined: it is gone. */
export type RecordListener = (storedKey: string, value: unknown) => void;

const reconnectDelayMs = 200;
// How many change sets a start takes in before others get a turn.
const setsPerStretch = 500;

/**
 * The only read cache over a store: every object and every record of the authority in memory, fed by one store
 * watch, so that both show one revision. It serves reads, lists and watches.
 *
 * Invariants: the cache shows the state at `revision` exactly. Its watchers see each change of an object once,
 * in order, also when the store's own watch was cut: it resumes after the last revision seen. When the history that
 * the cache needs is compacted, it lists again, and every watcher ends with Expired.
 */
export class ObjectCache {
  readonly #slots = new ObjectSlots();
  // By the key of the store, all of them: the authority looks up single keys many times for each operation.
  readonly #records = new Map<string, HeldRecord>();
  readonly #watchers = new Set<WatchBuffer<ObjectEvent>>();
  readonly #listeners = new Set<RecordListener>();
  readonly #waiting = new Set<{ readonly revision: Revision; readonly wake: () => void }>();
  readonly #stop = new AbortController();
  readonly #history = new EventHistory<ObjectEvent>(({ changes }) => changes.length);
  #revision = asRevision(0);
  // How often changes were taken in. Not their revision: one that was cut short is taken in again.
  #times = 0;
  #following: Promise<void> | undefined;

  constructor(
    private readonly parts: {
      readonly store: Store;
      readonly env: Env;
      readonly codec: Codec;
      readonly versions: Versions;
    },
  ) {}

  /** The store revision that the cache shows. */
  get revision(): Revision {
    return this.#revision;
  }

  /** The resourceVersion of everything that the cache shows. */
  get version(): number {
    return this.versions.upTo(this.#revision);
  }

  get versions(): Versions {
    return this.parts.versions;
  }

  /**
   * Reads everything as it was when the history begins that is worth having, takes in the changes since then as it takes
   * in every change, and then follows the store until it is closed. So a watch from before the start can resume. Where
   * history cannot be had, the cache starts at the present and without events. Until this resolves the cache shows the past.
   */
  async start(): Promise<void> {
    if (!(await this.#startInThePast())) await this.#load();
    this.#following = this.#follow();
  }

  async #startInThePast(): Promise<boolean> {
    const { store, env } = this.parts;
    try {
      const recent = await recentChanges(store, env);
      if (recent === undefined) return false;
      await this.#load(recent.begin);
      for (const [index, set] of recent.after(recent.begin).entries()) {
        this.#apply(set);
        if ((index + 1) % setsPerStretch === 0) await env.yield();
      }
      return true;
    } catch (error) {
      // History was compacted meanwhile, or the store is away: a start at the present finds out.
      if (!isBerthError(error)) throw error;
      return false;
    }
  }

  /** Reads everything, as it was at a revision or as it is. */
  async #load(at?: Revision): Promise<void> {
    const { store, env } = this.parts;
    const clear = (): void => {
      this.#slots.clear();
      this.#records.clear();
    };
    clear();
    // Page by page into the cache: the bytes of all objects together would be most of the memory of an idle server.
    const page = (entries: readonly Entry[]): void => {
      for (const entry of entries) {
        const record = this.#setRecord(entry);
        if (record?.slot !== undefined) setPart(record.slot, entry.key, record);
      }
    };
    this.#revision = await readPages(store, everythingRange, env, { page, restart: clear }, at);
    for (const slot of this.#slots.all()) this.#slots.changed(slot);
    this.#history.beginAt(this.#revision);
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#following;
    for (const watcher of this.#watchers) watcher.end(new BerthError('StoreClosed', 'the cache was closed'));
  }

  get(key: ObjectKey): CachedObject | undefined {
    return this.#cached(this.#slots.get(key));
  }

  /** What stands under one key of the store, be it part of an object or a record of the authority. */
  record(storedKey: string): CachedRecord | undefined {
    return this.#records.get(storedKey);
  }

  /** What stands under the keys that begin with this, in no order. */
  *records(prefix: string): Generator<readonly [key: string, record: CachedRecord]> {
    for (const entry of this.#records) if (entry[0].startsWith(prefix)) yield entry;
  }

  /**
   * Tells of every change of a record after the call, until the signal aborts. Where history was lost the listener is told
   * the difference: for each record its value now, also if it was deleted and made again meanwhile.
   */
  listen(listener: RecordListener, signal: AbortSignal): void {
    if (signal.aborted) return;
    this.#listeners.add(listener);
    signal.addEventListener('abort', () => this.#listeners.delete(listener), { once: true });
  }

  /** The objects of a kind, in order of tenant and name; of one tenant if given. */
  *list(kind: string, namespace?: string): Generator<CachedObject> {
    for (const slot of this.#slots.list(kind, namespace)) {
      const cached = this.#cached(slot);
      if (cached !== undefined) yield cached;
    }
  }

  /** How many objects `list` would go through. */
  count(kind: string, namespace?: string): number {
    return this.#slots.count(kind, namespace);
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

  /** Resolves when the cache shows everything up to this resourceVersion. */
  shows(version: number, signal?: AbortSignal): Promise<void> {
    return this.notOlderThan(asRevision(this.versions.revisionOf(version)), signal);
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
    if (options.after < this.#history.begin) {
      buffer.end(this.#expired(options.after));
      return buffer;
    }
    this.#watchers.add(buffer);
    buffer.prime(this.#history.after(options.after));
    return buffer;
  }

  async #follow(): Promise<void> {
    const { store, env } = this.parts;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        for await (const sets of store.watch(everythingRange, { after: this.#revision, signal })) {
          for (const set of sets) this.#apply(set);
          this.#wake();
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
      const before = this.#revision;
      this.#replaceAll(entries);
      this.#revision = revision;
      // The difference is no event: an object that was deleted and made again would look changed.
      this.#history.beginAt(revision);
      for (const watcher of this.#watchers) watcher.end(this.#expired(before));
      this.#wake();
      return true;
    } catch {
      return false;
    }
  }

  /** Makes the cache show exactly these entries. */
  #replaceAll(entries: readonly Entry[]): void {
    const present = new Set<string>();
    for (const entry of entries) {
      present.add(entry.key);
      if (this.#records.get(entry.key)?.revision === entry.modRevision) continue;
      const record = this.#setRecord(entry);
      if (record !== undefined) this.#showPart(entry.key, record.slot, record);
    }
    for (const [key, { slot }] of this.#records) {
      if (present.has(key)) continue;
      this.#records.delete(key);
      this.#tell(key, undefined);
      this.#showPart(key, slot, undefined);
    }
  }

  #showPart(storedKey: string, slot: Slot | undefined, record: CachedRecord | undefined): void {
    if (slot === undefined) return;
    setPart(slot, storedKey, record);
    this.#slots.changed(slot);
  }

  #apply(set: ChangeSet): void {
    const { revision } = set;
    const time = (this.#times += 1);
    const touched: Slot[] = [];
    for (const change of set.changes) {
      const key = change.kind === 'put' ? change.entry.key : change.key;
      const record = change.kind === 'put' ? this.#setRecord(change.entry) : undefined;
      const slot = (record ?? this.#records.get(key))?.slot;
      if (record === undefined && this.#records.delete(key)) this.#tell(key, undefined);
      if (slot === undefined) continue;
      this.#touch(slot, time, touched);
      setPart(slot, key, record);
    }
    this.#revision = revision;
    this.#publish({ revision, changes: this.#eventsOf(touched, revision) });
  }

  /** Marks on the slots instead of a map of them: this is done for every change of a cell. */
  #touch(slot: Slot, time: number, touched: Slot[]): void {
    if (slot.touchedBy === time) return;
    slot.touchedBy = time;
    slot.before = this.#cached(slot);
    touched.push(slot);
  }

  #eventsOf(touched: readonly Slot[], revision: Revision): ObjectEvent[] {
    const events: ObjectEvent[] = [];
    for (const slot of touched) {
      const after = this.#cached(slot);
      const { key, isListed } = slot;
      // What nobody was told of is new, also where an attempt to take it in was cut short.
      const before = isListed ? slot.before : undefined;
      slot.before = undefined;
      if (after !== undefined)
        events.push(new CacheEvent(isListed ? 'MODIFIED' : 'ADDED', key, after, before));
      else if (before !== undefined)
        events.push(new CacheEvent('DELETED', key, before.asOf(this.versions.ofObject(revision)), before));
      this.#slots.changed(slot);
    }
    return events;
  }

  #publish(set: ChangeSet<ObjectEvent>): void {
    if (set.changes.length === 0) return;
    this.#history.keep(set);
    for (const watcher of this.#watchers) watcher.push([set]);
  }

  #expired(after: Revision): BerthError {
    const { versions } = this;
    return new BerthError(
      'Expired',
      `the changes after resourceVersion ${versions.upTo(after)} are no longer kept, only those after ${versions.upTo(this.#history.begin)}: list again`,
    );
  }

  #wake(): void {
    for (const waiting of this.#waiting) {
      if (waiting.revision > this.#revision) continue;
      this.#waiting.delete(waiting);
      waiting.wake();
    }
  }

  #setRecord(entry: Entry): HeldRecord | undefined {
    const before = this.#records.get(entry.key);
    // What the cell keeps for itself (tokens, its certificates, marks) is read where it is needed.
    if (before === undefined && !isShared(entry.key)) return undefined;
    const record = {
      value: this.parts.codec.decode(entry.value),
      revision: entry.modRevision,
      createRevision: entry.createRevision,
      slot: before === undefined ? this.#slots.of(entry.key) : before.slot,
    };
    this.#records.set(entry.key, record);
    this.#tell(entry.key, record.value);
    return record;
  }

  #tell(storedKey: string, value: unknown): void {
    for (const listener of this.#listeners) listener(storedKey, value);
  }

  #cached(slot: Slot | undefined): CachedObject | undefined {
    if (slot?.stored === undefined) return undefined;
    slot.cached ??= new CachedObject(slot.key, slot.stored, slot.status, this.versions);
    return slot.cached;
  }
}

function setPart(slot: Slot, storedKey: string, record: CachedRecord | undefined): void {
  slot.cached = undefined;
  if (storedKey.startsWith('/s/')) slot.status = record;
  else slot.stored = record;
}
