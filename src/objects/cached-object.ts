import type { BerthObject } from '../model/object.js';
import type { ObjectChange } from '../model/ports.js';
import { isRecordView, recordViews, renderRecord } from '../model/record-views.js';
import type { Versions } from '../model/versions.js';
import type { Revision } from '../store/contract.js';
import { assembleObject, type StoredObject, type StoredStatus } from './assemble.js';
import { type ObjectKey, shownKey } from './keys.js';

/** One key of the store as the cache holds it. The value must not be changed. */
export interface CachedRecord<T = unknown> {
  readonly value: T;
  readonly revision: Revision;
  readonly createRevision: Revision;
}

/**
 * An object as the cache holds it, with the revisions that a guarded write needs. Put together from its records only
 * when somebody looks: most changes are of objects that nobody watches, and accounts change with every bind.
 */
export class CachedObject {
  #object: BerthObject | undefined;

  constructor(
    readonly key: ObjectKey,
    private readonly stored: CachedRecord,
    private readonly status: CachedRecord | undefined,
    private readonly versions: Versions,
    private readonly shownVersion?: number,
  ) {}

  /** Of the key with metadata and spec. */
  get specRevision(): Revision {
    return this.stored.revision;
  }

  /** Of the key with the status; undefined if it has none. */
  get statusRevision(): Revision | undefined {
    return this.status?.revision;
  }

  /** As it is stored, without the version that only a whole object has: for whoever needs no more. */
  get metadata(): StoredObject['metadata'] {
    return this.#shown.metadata;
  }

  get object(): BerthObject {
    this.#object ??= assembleObject(
      this.#shown,
      // A parsed boundary: only statuses are written under these keys.
      this.status?.value as StoredStatus | undefined,
      String(this.version),
    );
    return this.#object;
  }

  /** Its resourceVersion, without putting it together. */
  get version(): number {
    const { stored, status, versions } = this;
    return this.shownVersion ?? versions.ofObject(Math.max(stored.revision, status?.revision ?? 0));
  }

  /** Records that people see as objects are rendered as those; all others are objects already. */
  get #shown(): StoredObject {
    const { value } = this.stored;
    return (isRecordView(this.key.kind) ? renderRecord(storedUnder(this.key), value) : value) as StoredObject;
  }

  /** The same state under another resourceVersion: that of its deletion. */
  asOf(version: number): CachedObject {
    return new CachedObject(this.key, this.stored, this.status, this.versions, version);
  }
}

/** A change of an object: after it, and before it; for DELETED the last state, with the revision of the deletion. */
export interface ObjectEvent extends ObjectChange {
  readonly key: ObjectKey;
  /** Metadata and spec are as they were. */
  readonly isOfStatusOnly: boolean;
  /** Of the object, without its version. */
  readonly metadata: StoredObject['metadata'];
  readonly metadataBefore: StoredObject['metadata'] | undefined;
}

export class CacheEvent implements ObjectEvent {
  constructor(
    readonly type: ObjectEvent['type'],
    readonly key: ObjectKey,
    private readonly after: CachedObject,
    private readonly previous: CachedObject | undefined,
  ) {}

  get kind(): string {
    return this.key.kind;
  }

  get version(): number {
    return this.after.version;
  }

  get isOfStatusOnly(): boolean {
    return this.type === 'MODIFIED' && this.previous?.specRevision === this.after.specRevision;
  }

  get metadata(): StoredObject['metadata'] {
    return this.after.metadata;
  }

  get metadataBefore(): StoredObject['metadata'] | undefined {
    return this.previous?.metadata;
  }

  get object(): BerthObject {
    return this.after.object;
  }

  get before(): BerthObject | undefined {
    return this.previous?.object;
  }
}

/** The store's key of what an object is made from, besides its status. */
const storedUnder = (key: ObjectKey): string => {
  const view = recordViews.find(({ kind }) => kind === key.kind);
  return view === undefined ? `/o/${shownKey(key)}` : `${view.prefix}${key.name}`;
};
