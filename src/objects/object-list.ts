import type { Env } from '../env/env.js';
import { BerthError, isBerthError } from '../model/errors.js';
import type { KindDefinition } from '../model/kind.js';
import type { BerthObject } from '../model/object.js';
import { isRecordView } from '../model/record-views.js';
import { type Entry, type Revision, type Store } from '../store/contract.js';
import { assembleObject, type StoredObject, type StoredStatus } from './assemble.js';
import type { Codec } from './codec.js';
import { decodeToken, encodeToken } from './continue-token.js';
import { kindRange, storeKey } from './keys.js';
import type { ObjectCache } from './object-cache.js';

export interface ListOptions {
  readonly namespace?: string;
  /** Objects for which this is false are left out; made from label and field selectors. */
  readonly matches?: (object: BerthObject) => boolean;
  readonly limit?: number;
  readonly continueToken?: string;
}

export interface ObjectList {
  readonly items: readonly BerthObject[];
  /** The resourceVersion at which the whole list stands, however many pages it takes. */
  readonly version: number;
  readonly continueToken: string | undefined;
  /** How many more there are, where that is known without looking: not with a selector. */
  readonly remaining: number | undefined;
}

// What a page that continues a list reads from the store at a time, before others get a turn: some milliseconds.
const entriesPerRead = 150;

/**
 * Lists objects. The first page, or all, comes from the cache; the pages after it come from the store at the
 * revision of the first, so that a list is one state of the cell however long it takes to read.
 */
export class ObjectLister {
  constructor(
    private readonly parts: {
      readonly store: Store;
      readonly cache: ObjectCache;
      readonly codec: Codec;
      readonly env: Env;
    },
  ) {}

  list(kind: KindDefinition, options: ListOptions = {}): Promise<ObjectList> {
    // Views of records are not stored as objects, so later pages could not be read: they come as one page.
    if (isRecordView(kind.kind)) {
      const { limit: _, ...whole } = options;
      return Promise.resolve(this.#fromCache(kind, whole));
    }
    return options.continueToken === undefined
      ? Promise.resolve(this.#fromCache(kind, options))
      : this.#fromStore(kind, options, options.continueToken);
  }

  #fromCache(kind: KindDefinition, { namespace, matches, limit }: ListOptions): ObjectList {
    const { cache } = this.parts;
    const { revision } = cache;
    const items: BerthObject[] = [];
    for (const { object } of cache.list(kind.kind, namespace)) {
      if (matches !== undefined && !matches(object)) continue;
      if (items.length === limit) {
        // Counted, not walked: a page costs what is in it, not what is behind it.
        const remaining = matches === undefined ? cache.count(kind.kind, namespace) - limit : undefined;
        return {
          items,
          version: cache.version,
          continueToken: this.#tokenAfter(items, revision),
          remaining,
        };
      }
      items.push(object);
    }
    return { items, version: cache.version, continueToken: undefined, remaining: undefined };
  }

  async #fromStore(
    kind: KindDefinition,
    { namespace, matches, limit }: ListOptions,
    token: string,
  ): Promise<ObjectList> {
    const { revision, afterNamespace, afterName } = decodeToken(token);
    const range = kindRange('o', kind, namespace);
    let from = `${storeKey('o', { kind: kind.kind, namespace: afterNamespace, name: afterName })}\0`;
    if (from < range.from || from >= range.to)
      throw new BerthError('BadRequest', 'the continue token belongs to another list');
    const items: BerthObject[] = [];
    const version = this.parts.cache.versions.upTo(revision);
    for (;;) {
      const { entries, more } = await this.#read({ from, to: range.to }, revision);
      const statuses = await this.#statusesOf(entries, revision);
      for (const [index, entry] of entries.entries()) {
        const object = this.#assemble(entry, statuses.get(`/s${entry.key.slice(2)}`));
        if (matches !== undefined && !matches(object)) continue;
        items.push(object);
        if (items.length === limit && (more || index < entries.length - 1)) {
          await this.parts.env.yield();
          return { items, version, continueToken: this.#tokenAfter(items, revision), remaining: undefined };
        }
      }
      await this.parts.env.yield();
      const last = entries.at(-1);
      if (!more || last === undefined)
        return { items, version, continueToken: undefined, remaining: undefined };
      from = `${last.key}\0`;
    }
  }

  async #read(
    range: { from: string; to: string },
    revision: Revision,
  ): Promise<{ entries: readonly Entry[]; more: boolean }> {
    try {
      return await this.parts.store.read(range, { revision, limit: entriesPerRead });
    } catch (error) {
      if (!isBerthError(error, 'Expired')) throw error;
      throw new BerthError(
        'Expired',
        'the list took too long: what it continues is no longer kept; list again from the start',
      );
    }
  }

  async #statusesOf(entries: readonly Entry[], revision: Revision): Promise<Map<string, Entry>> {
    const [first, last] = [entries[0], entries.at(-1)];
    const statuses = new Map<string, Entry>();
    if (first === undefined || last === undefined) return statuses;
    // Names between the two that have a status but no object do not exist, so one page is always enough.
    const { entries: found } = await this.#read(
      { from: `/s${first.key.slice(2)}`, to: `/s${last.key.slice(2)}\0` },
      revision,
    );
    for (const entry of found) statuses.set(entry.key, entry);
    return statuses;
  }

  #assemble(entry: Entry, status: Entry | undefined): BerthObject {
    const { codec, cache } = this.parts;
    const revision = Math.max(entry.modRevision, status?.modRevision ?? 0);
    return assembleObject(
      codec.decode(entry.value) as StoredObject,
      status === undefined ? undefined : (codec.decode(status.value) as StoredStatus),
      String(cache.versions.ofObject(revision)),
    );
  }

  #tokenAfter(items: readonly BerthObject[], revision: Revision): string {
    const last = items.at(-1);
    if (last === undefined) throw new Error('a page with a limit of zero cannot be continued');
    return encodeToken({ revision, afterNamespace: last.metadata.namespace, afterName: last.metadata.name });
  }
}
