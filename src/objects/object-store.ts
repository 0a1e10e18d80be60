import { isDeepStrictEqual } from 'node:util';
import type { Env } from '../env/env.js';
import { BerthError, isBerthError } from '../model/errors.js';
import type { KindDefinition } from '../model/kind.js';
import type { BerthObject, ObjectMeta } from '../model/object.js';
import { asRevision, type Guard, type Revision, type Store, type Write } from '../store/contract.js';
import type { Admission, FieldValidation } from './admission.js';
import { applyConfiguration } from './apply/apply.js';
import { describeConflicts } from './apply/describe-conflicts.js';
import { trackUpdate } from './apply/track-update.js';
import { takeApart } from './assemble.js';
import type { Codec } from './codec.js';
import { type ObjectKey, storeKey } from './keys.js';
import {
  checkIdentity,
  generatedName,
  isSpecChanged,
  newMetadata,
  timestamp,
  updatedMetadata,
} from './metadata.js';
import type { CachedObject, ObjectCache } from './object-cache.js';
import { alreadyExists, conflict, notFound, unknownOutcome } from './object-errors.js';

export interface WriteOptions {
  /** Whose change it is, for the managed fields of kinds that users write. */
  readonly manager?: string;
  readonly dryRun?: boolean;
  readonly fieldValidation?: FieldValidation;
}

export interface ApplyOptions extends WriteOptions {
  readonly manager: string;
  /** Takes over fields that others manage with other values, instead of failing. */
  readonly force: boolean;
}

/** Who sets the managed fields: this class from what changed, or server-side apply, which has set them already. */
type Tracking = 'fromChange' | 'given';

export interface Written {
  readonly object: BerthObject;
  readonly warnings: readonly string[];
}

export type Propagation = 'Background' | 'Foreground' | 'Orphan';

export interface DeleteOptions {
  readonly dryRun?: boolean;
  readonly propagation?: Propagation;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
}

/** Which part of an object a write is about. The other parts stay as they are, whatever the client sent. */
export type WritePart = 'spec' | 'status';

/** Finalizers of the collector: while one is there, the object waits for what depends on it. */
export const foregroundFinalizer = 'foregroundDeletion';
export const orphanFinalizer = 'orphan';
/** On every tenant, until nothing is left in it. */
export const contentsFinalizer = 'berth.dev/contents';

// A write that was decided on what the cache shows is tried again with what has changed since. Somebody else
// must have written each time, so this many failures mean real contention.
const attemptsMax = 10;

const schemaOf = (kind: KindDefinition): unknown => ({ type: 'object', properties: kind.fields });

/**
 * Versioned objects over a store. Writes are decided on the cached object and guarded on the revisions of both
 * its keys, so that a stale cache can cost a retry and never a lost update.
 */
export class ObjectStore {
  constructor(
    private readonly parts: {
      readonly store: Store;
      readonly cache: ObjectCache;
      readonly codec: Codec;
      readonly env: Env;
      readonly admission: Admission;
      readonly base: number;
      /** The kind whose objects are the namespaces of all tenant-scoped objects. */
      readonly tenantKind: KindDefinition;
    },
  ) {}

  get(kind: KindDefinition, key: ObjectKey): BerthObject {
    const cached = this.parts.cache.get(key);
    if (cached === undefined) throw notFound(kind, key);
    return cached.object;
  }

  create(
    kind: KindDefinition,
    namespace: string | undefined,
    asked: BerthObject,
    options: WriteOptions = {},
  ): Promise<Written> {
    return this.#create(kind, namespace, asked, options, 'fromChange');
  }

  async #create(
    kind: KindDefinition,
    namespace: string | undefined,
    asked: BerthObject,
    options: WriteOptions,
    tracking: Tracking,
  ): Promise<Written> {
    const { env } = this.parts;
    const isGenerated = !asked.metadata.name && asked.metadata.generateName !== undefined;
    for (let attempt = 1; ; attempt++) {
      const name = isGenerated ? generatedName(asked.metadata.generateName ?? '', env) : asked.metadata.name;
      const { status: _, ...withoutStatus } = asked;
      const metadata = this.#withOwnFinalizers(kind, newMetadata(asked.metadata, name, namespace, env));
      const { object, warnings } = this.parts.admission.admit(
        kind,
        this.#tracked(kind, undefined, { ...withoutStatus, metadata }, options, tracking),
        undefined,
        options.fieldValidation ?? 'Strict',
      );
      const key = { kind: kind.kind, namespace, name };
      if (this.parts.cache.get(key) === undefined) {
        const tenantGuards = await this.#tenantGuards(kind, namespace);
        if (options.dryRun) return { object, warnings };
        const created = await this.#insert(kind, key, object, tenantGuards);
        if (created !== undefined) return { object: created, warnings };
      }
      // A generated name that is taken is our bad luck, not the client's mistake.
      if (!isGenerated || attempt >= attemptsMax) throw alreadyExists(kind, name);
    }
  }

  /** Replaces an object, or its status. The object must say which version it replaces. */
  update(
    kind: KindDefinition,
    key: ObjectKey,
    asked: BerthObject,
    part: WritePart,
    options: WriteOptions = {},
  ): Promise<Written> {
    if (!asked.metadata.resourceVersion) {
      throw new BerthError(
        'Invalid',
        `${kind.kind} ${JSON.stringify(key.name)} is invalid: metadata.resourceVersion: required for an update`,
        {
          details: {
            kind: kind.kind,
            group: kind.group,
            name: key.name,
            causes: [
              { path: 'metadata.resourceVersion', reason: 'Required', message: 'required for an update' },
            ],
          },
        },
      );
    }
    return this.modify(kind, key, part, () => asked, options);
  }

  /**
   * Changes an object by a function of what it is now, again and again until it is written on the version it
   * was made from. If the result names a resourceVersion, that must be the live one.
   */
  modify(
    kind: KindDefinition,
    key: ObjectKey,
    part: WritePart,
    change: (live: BerthObject) => BerthObject,
    options: WriteOptions = {},
  ): Promise<Written> {
    return this.#modify(kind, key, part, change, options, 'fromChange');
  }

  /** Server-side apply: makes the object have what one manager wants, and not what it wanted before and no longer. */
  async apply(
    kind: KindDefinition,
    key: ObjectKey,
    applied: BerthObject,
    options: ApplyOptions,
  ): Promise<{ readonly written: Written; readonly isNew: boolean }> {
    const applyTo = (live: BerthObject | undefined): BerthObject => {
      const outcome = applyConfiguration({
        live,
        applied,
        manager: options.manager,
        force: options.force,
        apiVersion: applied.apiVersion,
        now: timestamp(this.parts.env),
        schema: schemaOf(kind),
      });
      if (outcome.kind === 'Conflict') {
        const { message, causes } = describeConflicts(outcome.conflicts);
        throw new BerthError('Conflict', message, {
          details: { kind: kind.plural, group: kind.group, name: key.name, causes },
        });
      }
      // What the configuration names of the object's identity is checked against the live one.
      const { uid, resourceVersion } = applied.metadata;
      return {
        ...outcome.object,
        metadata: { ...outcome.object.metadata, uid, resourceVersion },
      } as BerthObject;
    };
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      try {
        if (this.parts.cache.get(key) !== undefined) {
          return { written: await this.#modify(kind, key, 'spec', applyTo, options, 'given'), isNew: false };
        }
        if (applied.metadata.uid || applied.metadata.resourceVersion) throw notFound(kind, key);
        return {
          written: await this.#create(kind, key.namespace, applyTo(undefined), options, 'given'),
          isNew: true,
        };
      } catch (error) {
        // It came or went between the look and the write: look again.
        const isRace =
          isBerthError(error, 'AlreadyExists') || (isBerthError(error, 'NotFound') && attempt === 0);
        if (!isRace) throw error;
      }
    }
    throw conflict(kind, key.name, `${attemptsMax} attempts met a change by somebody else; try again later`);
  }

  async #modify(
    kind: KindDefinition,
    key: ObjectKey,
    part: WritePart,
    change: (live: BerthObject) => BerthObject,
    options: WriteOptions,
    tracking: Tracking,
  ): Promise<Written> {
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      const cached = this.parts.cache.get(key);
      if (cached === undefined) throw notFound(kind, key);
      const live = cached.object;
      const asked = change(live);
      if (asked.metadata.name !== live.metadata.name) {
        throw new BerthError(
          'BadRequest',
          `the name of the object (${JSON.stringify(asked.metadata.name)}) is not the name in the path (${JSON.stringify(key.name)})`,
        );
      }
      checkIdentity(kind, live, asked.metadata);
      const { object, warnings } = this.#admitChange(kind, live, asked, part, options, tracking);
      if (options.dryRun || isDeepStrictEqual(object, live)) return { object, warnings };
      const isLastFinalizerGone =
        live.metadata.deletionTimestamp !== undefined && (object.metadata.finalizers?.length ?? 0) === 0;
      const outcome = isLastFinalizerGone
        ? await this.#remove(kind, cached)
        : await this.#replace(kind, cached, object, part);
      if (outcome !== undefined) return { object: outcome, warnings };
    }
    throw conflict(kind, key.name, `${attemptsMax} attempts met a change by somebody else; try again later`);
  }

  /** Deletes an object, or marks it for deletion while something has to be done before. */
  async delete(
    kind: KindDefinition,
    key: ObjectKey,
    options: DeleteOptions = {},
  ): Promise<{ readonly object: BerthObject; readonly isGone: boolean }> {
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      const cached = this.parts.cache.get(key);
      if (cached === undefined) throw notFound(kind, key);
      const live = cached.object;
      checkIdentity(kind, live, options.preconditions ?? {});
      const finalizers = this.#finalizersForDeletion(live.metadata, options.propagation);
      const isGone = finalizers.length === 0;
      const metadata: ObjectMeta = {
        ...live.metadata,
        deletionTimestamp: live.metadata.deletionTimestamp ?? timestamp(this.parts.env),
        deletionGracePeriodSeconds: 0,
        generation: live.metadata.generation + (live.metadata.deletionTimestamp === undefined ? 1 : 0),
        finalizers,
      };
      const marked = { ...live, metadata };
      if (options.dryRun) return { object: marked, isGone };
      if (!isGone && isDeepStrictEqual(marked.metadata, live.metadata))
        return { object: live, isGone: false };
      const outcome = isGone
        ? await this.#remove(kind, cached)
        : await this.#replace(kind, cached, marked, 'spec');
      if (outcome !== undefined) return { object: outcome, isGone };
    }
    throw conflict(kind, key.name, `${attemptsMax} attempts met a change by somebody else; try again later`);
  }

  // ---- what a change makes of an object ------------------------------------------------------------------

  #admitChange(
    kind: KindDefinition,
    live: BerthObject,
    asked: BerthObject,
    part: WritePart,
    options: WriteOptions,
    tracking: Tracking,
  ): Written {
    const fieldValidation = options.fieldValidation ?? 'Strict';
    if (part === 'status') {
      const next = asked.status === undefined ? live : { ...live, status: asked.status };
      return this.parts.admission.admit(kind, next, live, fieldValidation);
    }
    const { status: _, ...rest } = asked;
    const metadata = updatedMetadata(live.metadata, asked.metadata);
    const next: BerthObject = {
      ...rest,
      metadata,
      ...(live.status === undefined ? {} : { status: live.status }),
    };
    const added = (metadata.finalizers ?? []).filter((name) => !live.metadata.finalizers?.includes(name));
    if (live.metadata.deletionTimestamp !== undefined && added.length > 0) {
      throw new BerthError(
        'Forbidden',
        `${kind.kind} ${JSON.stringify(live.metadata.name)} is being deleted: finalizers may only be removed, not added (${added.join(', ')})`,
      );
    }
    const tracked = this.#tracked(kind, live, next, options, tracking);
    const { object, warnings } = this.parts.admission.admit(kind, tracked, live, fieldValidation);
    if (!isSpecChanged(live, object)) return { object, warnings };
    const generation = live.metadata.generation + 1;
    return { object: { ...object, metadata: { ...object.metadata, generation } }, warnings };
  }

  /** Puts a change down to its manager. Kinds that only controllers write carry no managed fields. */
  #tracked(
    kind: KindDefinition,
    before: BerthObject | undefined,
    after: BerthObject,
    options: WriteOptions,
    tracking: Tracking,
  ): BerthObject {
    if (!kind.isApplied) {
      const { managedFields: _, ...metadata } = after.metadata;
      return { ...after, metadata };
    }
    if (tracking === 'given') return after;
    return trackUpdate({
      before,
      after,
      manager: options.manager ?? 'berth',
      apiVersion: after.apiVersion,
      now: timestamp(this.parts.env),
      schema: schemaOf(kind),
    });
  }

  #withOwnFinalizers(kind: KindDefinition, metadata: ObjectMeta): ObjectMeta {
    if (kind !== this.parts.tenantKind || metadata.finalizers?.includes(contentsFinalizer)) return metadata;
    return { ...metadata, finalizers: [...(metadata.finalizers ?? []), contentsFinalizer] };
  }

  #finalizersForDeletion(metadata: ObjectMeta, propagation: Propagation | undefined): readonly string[] {
    const kept = (metadata.finalizers ?? []).filter(
      (name) => propagation === undefined || (name !== foregroundFinalizer && name !== orphanFinalizer),
    );
    if (propagation === 'Foreground') return [...kept, foregroundFinalizer];
    if (propagation === 'Orphan') return [...kept, orphanFinalizer];
    return kept;
  }

  // ---- the transactions ----------------------------------------------------------------------------------

  /** A tenant that is not there, or is going, cannot own anything new: checked inside the transaction. */
  async #tenantGuards(kind: KindDefinition, namespace: string | undefined): Promise<readonly Guard[]> {
    if (kind.scope === 'Cluster' || namespace === undefined) return [];
    const tenantKey = { kind: this.parts.tenantKind.kind, namespace: undefined, name: namespace };
    const tenant = this.parts.cache.get(tenantKey);
    if (tenant === undefined) {
      throw new BerthError(
        'NotFound',
        `namespaces ${JSON.stringify(namespace)} not found: there is no tenant of that name`,
        {
          details: { kind: 'namespaces', name: namespace },
        },
      );
    }
    if (tenant.object.metadata.deletionTimestamp !== undefined) {
      throw new BerthError(
        'Forbidden',
        `tenant ${JSON.stringify(namespace)} is being deleted: nothing can be created in it`,
      );
    }
    return [{ kind: 'unchanged', key: storeKey('o', tenantKey), modRevision: tenant.specRevision }];
  }

  /** Writes a new object; undefined if its name is taken. */
  async #insert(
    kind: KindDefinition,
    key: ObjectKey,
    object: BerthObject,
    tenantGuards: readonly Guard[],
  ): Promise<BerthObject | undefined> {
    let guards = tenantGuards;
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      const { stored } = takeApart(object);
      const own = [storeKey('o', key), storeKey('s', key)];
      const outcome = await this.parts.store.transact({
        guards: [...own.map((absent): Guard => ({ kind: 'absent', key: absent })), ...guards],
        writes: [{ kind: 'put', key: storeKey('o', key), value: this.parts.codec.encode(stored) }],
      });
      switch (outcome.kind) {
        case 'Committed':
          return this.#written(object, outcome.revision);
        case 'UnknownOutcome':
          throw unknownOutcome(kind, key.name, outcome.cause);
        case 'GuardFailed':
          await this.parts.cache.notOlderThan(this.#newestOf(outcome.failed.map((failed) => failed.current)));
          if (outcome.failed.some(({ guard }) => own.includes(guard.key))) return undefined;
          guards = await this.#tenantGuards(kind, key.namespace);
      }
    }
    throw conflict(kind, key.name, `its tenant changed ${attemptsMax} times meanwhile; try again later`);
  }

  /** Writes a changed object; undefined if it has changed since it was read. */
  async #replace(
    kind: KindDefinition,
    cached: CachedObject,
    object: BerthObject,
    part: WritePart,
  ): Promise<BerthObject | undefined> {
    const { stored, status } = takeApart(object);
    const write: Write =
      part === 'status'
        ? {
            kind: 'put',
            key: storeKey('s', cached.key),
            value: this.parts.codec.encode(status ?? { status: {} }),
          }
        : { kind: 'put', key: storeKey('o', cached.key), value: this.parts.codec.encode(stored) };
    const revision = await this.#transact(kind, cached, [write]);
    return revision === undefined ? undefined : this.#written(object, revision);
  }

  async #remove(kind: KindDefinition, cached: CachedObject): Promise<BerthObject | undefined> {
    const keys = [storeKey('o', cached.key), storeKey('s', cached.key)];
    const revision = await this.#transact(
      kind,
      cached,
      keys.map((key): Write => ({ kind: 'delete', key })),
    );
    return revision === undefined ? undefined : this.#written(cached.object, revision);
  }

  async #transact(
    kind: KindDefinition,
    cached: CachedObject,
    writes: readonly Write[],
  ): Promise<Revision | undefined> {
    const statusKey = storeKey('s', cached.key);
    const guards: Guard[] = [
      { kind: 'unchanged', key: storeKey('o', cached.key), modRevision: cached.specRevision },
      cached.statusRevision === undefined
        ? { kind: 'absent', key: statusKey }
        : { kind: 'unchanged', key: statusKey, modRevision: cached.statusRevision },
    ];
    const outcome = await this.parts.store.transact({ guards, writes });
    switch (outcome.kind) {
      case 'Committed':
        return outcome.revision;
      case 'UnknownOutcome':
        throw unknownOutcome(kind, cached.key.name, outcome.cause);
      case 'GuardFailed': {
        const currents = outcome.failed.map((failed) => failed.current);
        // A deletion leaves no revision to wait for: look again a moment later.
        if (currents.includes(undefined)) await this.parts.env.sleep(1);
        await this.parts.cache.notOlderThan(this.#newestOf(currents));
        return undefined;
      }
    }
  }

  #newestOf(entries: readonly ({ readonly modRevision: Revision } | undefined)[]): Revision {
    return asRevision(Math.max(0, ...entries.map((entry) => entry?.modRevision ?? 0)));
  }

  /** Answers with the object as written, once the cache shows it: whoever reads next sees it. */
  async #written(object: BerthObject, revision: Revision): Promise<BerthObject> {
    await this.parts.cache.notOlderThan(revision);
    return {
      ...object,
      metadata: { ...object.metadata, resourceVersion: String(this.parts.base + revision) },
    };
  }
}
