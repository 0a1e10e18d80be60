import { Alarm } from '../env/alarm.js';
import type { Env } from '../env/env.js';
import { isBerthError } from '../model/errors.js';
import type { KindDefinition } from '../model/kind.js';
import type { BerthObject } from '../model/object.js';
import { isRecordView } from '../model/record-views.js';
import type { ObjectKey } from './keys.js';
import { shownKey } from './keys.js';
import type { CachedObject, ObjectEvent } from './cached-object.js';
import type { ObjectCache } from './object-cache.js';
import { contentsFinalizer, foregroundFinalizer, type ObjectStore, orphanFinalizer } from './object-store.js';

const resyncMs = 30_000;
const retryMs = 500;
// Others may run after so many.
const objectsPerStretch = 2_000;

type Metadata = CachedObject['metadata'];

/**
 * Deletes what has lost its owners, and lets go of owners that were waiting for what they own.
 *
 * It works from what the cache shows, and every step is a guarded write of its own: it may be stopped, repeated
 * or run twice at once. A change wakes it; a slow sweep over everything finds what a missed wake-up left.
 */
export class Collector {
  // Invariant: `#dependents` holds, for every uid that some object names as its owner, those objects' keys: the cache's
  // own, of which there is one for each object as long as it is there.
  readonly #dependents = new Map<string, Set<ObjectKey>>();
  readonly #dirty = new Map<string, ObjectKey>();
  readonly #alarm: Alarm;

  constructor(
    private readonly parts: {
      readonly objects: ObjectStore;
      readonly cache: ObjectCache;
      readonly env: Env;
      readonly kinds: readonly KindDefinition[];
      readonly tenantKind: KindDefinition;
    },
  ) {
    this.#alarm = new Alarm(parts.env);
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#dependents.clear();
      // Followed before it is indexed: no change falls in between, and indexing an object twice changes nothing.
      const following = this.#follow(signal);
      await this.#indexAll(signal);
      await this.#work(signal, following);
    }
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { cache } = this.parts;
    try {
      for await (const sets of cache.watch({ after: cache.revision, signal })) {
        for (const set of sets) for (const event of set.changes) this.#note(event);
      }
    } catch {
      // Expired or slow: the loop in `run` indexes everything again.
    }
  }

  /** Works off what is dirty until the watch ends. */
  async #work(signal: AbortSignal, following: Promise<void>): Promise<void> {
    let isFollowing = true;
    const ended = following.then(() => {
      isFollowing = false;
      this.#alarm.ring();
    });
    while (isFollowing && !signal.aborted) {
      const [next] = this.#dirty;
      if (next === undefined) {
        const isQuiet = await this.#alarm.sleep(resyncMs, signal);
        if (isQuiet) await this.#indexAll(signal);
        continue;
      }
      this.#dirty.delete(next[0]);
      try {
        await this.#reconcile(next[1]);
      } catch (error) {
        if (signal.aborted) break;
        // Somebody else was faster, or the store is away: look again a little later.
        if (!isBerthError(error, 'NotFound')) this.parts.env.after(retryMs, () => this.#markDirty(next[1]));
      }
    }
    await ended;
  }

  /** A stretch at a time: there may be very many objects. */
  async #indexAll(signal: AbortSignal): Promise<void> {
    let left = objectsPerStretch;
    for (const kind of this.parts.kinds) {
      // Records that are seen as objects have no owners, and there are as many as nodes.
      if (isRecordView(kind.kind)) continue;
      for (const { key, metadata } of this.parts.cache.list(kind.kind)) {
        this.#index(key, metadata);
        if (this.#mayHaveToGo(metadata)) this.#markDirty(key);
        left -= 1;
        if (left > 0) continue;
        left = objectsPerStretch;
        await this.parts.env.yield();
        if (signal.aborted) return;
      }
    }
  }

  #note(event: ObjectEvent): void {
    const { type, key } = event;
    // Owners and what keeps an object stand in its metadata.
    if (event.isOfStatusOnly || isRecordView(key.kind)) return;
    const { metadata, metadataBefore } = event;
    for (const { uid } of metadataBefore?.ownerReferences ?? []) this.#dependents.get(uid)?.delete(key);
    if (type !== 'DELETED') this.#index(key, metadata);
    const { uid, ownerReferences, namespace } = metadata;
    // Most of what is written has an owner that stays, or none: of those there is no more to know.
    const hasToStay = !this.#mayHaveToGo(metadata);
    if (type === 'ADDED' && hasToStay && (ownerReferences?.length ?? 0) <= 1) return;
    if (!hasToStay) this.#markDirty(key);
    if (type === 'DELETED') {
      for (const dependent of this.#dependents.get(uid) ?? []) this.#markDirty(dependent);
      if (this.#dependents.get(uid)?.size === 0) this.#dependents.delete(uid);
    }
    for (const owner of [...(ownerReferences ?? []), ...(metadataBefore?.ownerReferences ?? [])]) {
      const ownerKey = this.#ownerKey(owner, namespace);
      // Only an owner that is going can be waiting for this one.
      if (ownerKey !== undefined && this.#metadataOf(ownerKey)?.deletionTimestamp !== undefined)
        this.#markDirty(ownerKey);
    }
    if (type === 'DELETED' && namespace !== undefined) {
      this.#markDirty({ kind: this.parts.tenantKind.kind, namespace: undefined, name: namespace });
    }
  }

  #index(key: ObjectKey, { ownerReferences }: Metadata): void {
    for (const { uid } of ownerReferences ?? []) {
      let dependents = this.#dependents.get(uid);
      if (dependents === undefined) {
        dependents = new Set();
        this.#dependents.set(uid, dependents);
      }
      dependents.add(key);
    }
  }

  /**
   * What has no owner and is not being deleted stays, and so does what has an owner that stays. That is most of what is
   * written, and wakes nobody. When an owner goes, that wakes what it owns.
   */
  #mayHaveToGo({ deletionTimestamp, ownerReferences, namespace }: Metadata): boolean {
    if (deletionTimestamp !== undefined) return true;
    if (ownerReferences === undefined || ownerReferences.length === 0) return false;
    return !ownerReferences.some((owner) => {
      const live = this.#ownerOf(owner, namespace);
      return live !== undefined && live.metadata.deletionTimestamp === undefined;
    });
  }

  #markDirty(key: ObjectKey): void {
    this.#dirty.set(shownKey(key), key);
    this.#alarm.ring();
  }

  // ---- one object ----------------------------------------------------------------------------------------

  async #reconcile(key: ObjectKey): Promise<void> {
    const cached = this.parts.cache.get(key);
    const kind = this.parts.kinds.find((candidate) => candidate.kind === key.kind);
    if (cached === undefined || kind === undefined) return;
    const { metadata } = cached;
    if (metadata.deletionTimestamp !== undefined) {
      if (metadata.finalizers?.includes(orphanFinalizer)) await this.#orphanDependents(kind, cached);
      else if (metadata.finalizers?.includes(foregroundFinalizer)) await this.#deleteDependents(kind, cached);
      else if (metadata.finalizers?.includes(contentsFinalizer)) await this.#emptyTenant(kind, cached);
      return;
    }
    const owners = metadata.ownerReferences ?? [];
    if (owners.length === 0) return;
    const living = owners.filter((owner) => this.#ownerOf(owner, metadata.namespace) !== undefined);
    if (living.length === 0) {
      await this.parts.objects.delete(kind, key, {
        propagation: 'Background',
        preconditions: { uid: metadata.uid },
      });
      return;
    }
    // Its last living owners wait for it to go.
    const isWaitedFor = living.every((owner) => {
      const live = this.#ownerOf(owner, metadata.namespace)?.metadata;
      return live?.deletionTimestamp !== undefined && live.finalizers?.includes(foregroundFinalizer);
    });
    if (isWaitedFor) {
      const propagation = (this.#dependents.get(metadata.uid)?.size ?? 0) > 0 ? 'Foreground' : 'Background';
      await this.parts.objects.delete(kind, key, { propagation, preconditions: { uid: metadata.uid } });
    }
  }

  async #deleteDependents(kind: KindDefinition, owner: CachedObject): Promise<void> {
    const { uid } = owner.metadata;
    let isBlocked = false;
    for (const key of this.#dependents.get(uid) ?? []) {
      const dependent = this.parts.cache.get(key);
      const reference = dependent?.metadata.ownerReferences?.find((candidate) => candidate.uid === uid);
      if (dependent === undefined || reference === undefined) continue;
      if (reference.blockOwnerDeletion) isBlocked = true;
      if (dependent.metadata.deletionTimestamp === undefined) this.#markDirty(key);
    }
    if (!isBlocked) await this.#removeFinalizer(kind, owner, foregroundFinalizer);
  }

  async #orphanDependents(kind: KindDefinition, owner: CachedObject): Promise<void> {
    const { uid } = owner.metadata;
    for (const key of [...(this.#dependents.get(uid) ?? [])]) {
      const dependentKind = this.parts.kinds.find((candidate) => candidate.kind === key.kind);
      if (dependentKind === undefined || this.parts.cache.get(key) === undefined) continue;
      await this.parts.objects.modify(dependentKind, key, 'spec', (live) => ({
        ...live,
        metadata: {
          ...live.metadata,
          ownerReferences: (live.metadata.ownerReferences ?? []).filter((reference) => reference.uid !== uid),
        },
      }));
    }
    await this.#removeFinalizer(kind, owner, orphanFinalizer);
  }

  /** Deletes everything in a tenant that is going, then lets it go. */
  async #emptyTenant(kind: KindDefinition, tenant: CachedObject): Promise<void> {
    let isEmpty = true;
    for (const content of this.parts.kinds) {
      if (content.scope !== 'Tenant') continue;
      for (const { key, metadata } of this.parts.cache.list(content.kind, tenant.key.name)) {
        isEmpty = false;
        if (metadata.deletionTimestamp !== undefined) continue;
        await this.parts.objects.delete(content, key, { preconditions: { uid: metadata.uid } });
      }
    }
    if (isEmpty) await this.#removeFinalizer(kind, tenant, contentsFinalizer);
    else this.#markDirtyLater(tenant.key);
  }

  #markDirtyLater(key: ObjectKey): void {
    this.parts.env.after(retryMs, () => this.#markDirty(key));
  }

  async #removeFinalizer(kind: KindDefinition, { key }: CachedObject, finalizer: string): Promise<void> {
    const without = (live: BerthObject): BerthObject => ({
      ...live,
      metadata: {
        ...live.metadata,
        finalizers: (live.metadata.finalizers ?? []).filter((name) => name !== finalizer),
      },
    });
    await this.parts.objects.modify(kind, key, 'spec', without, { author: 'controller' });
  }

  /** The owner itself: an object with the same name but another uid is somebody else. */
  #ownerOf(
    owner: { kind: string; name: string; uid: string; apiVersion: string },
    namespace: string | undefined,
  ): CachedObject | undefined {
    const key = this.#ownerKey(owner, namespace);
    const cached = key === undefined ? undefined : this.parts.cache.get(key);
    return cached?.metadata.uid === owner.uid ? cached : undefined;
  }

  #metadataOf(key: ObjectKey): Metadata | undefined {
    return this.parts.cache.get(key)?.metadata;
  }

  #ownerKey(owner: { kind: string; name: string }, namespace: string | undefined): ObjectKey | undefined {
    const kind = this.parts.kinds.find((candidate) => candidate.kind === owner.kind);
    if (kind === undefined) return undefined;
    return { kind: kind.kind, namespace: kind.scope === 'Tenant' ? namespace : undefined, name: owner.name };
  }
}
