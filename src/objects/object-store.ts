import assert from 'node:assert';
import { isDeepStrictEqual } from 'node:util';
import { BerthError, isBerthError } from '../model/errors.js';
import type { KindDefinition } from '../model/kind.js';
import type { BerthObject, ObjectMeta } from '../model/object.js';
import { isRecordView } from '../model/record-views.js';
import type { Admission, FieldValidation } from './admission.js';
import { applyConfiguration } from './apply/apply.js';
import { describeConflicts } from './apply/describe-conflicts.js';
import { trackUpdate } from './apply/track-update.js';
import type { ObjectKey } from './keys.js';
import {
  type Author,
  checkIdentity,
  generatedName,
  isReadable,
  isSpecChanged,
  newMetadata,
  timestamp,
  updatedMetadata,
} from './metadata.js';
import { alreadyExists, conflict, notFound } from './object-errors.js';
import {
  attemptsMax,
  ObjectTransactions,
  type ObjectTransactionParts,
  type WritePart,
} from './object-transactions.js';

export interface WriteOptions {
  /** A client if left out. */
  readonly author?: Author;
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
  /** The object as JSON, where it was there anyway. */
  readonly json?: string;
  /** The resourceVersion that it replaced; a new object has replaced none. */
  readonly versionBefore?: string;
}

export type Propagation = 'Background' | 'Foreground' | 'Orphan';

export interface DeleteOptions {
  readonly dryRun?: boolean;
  readonly propagation?: Propagation;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
}

/** Finalizers of the collector: while one is there, the object waits for what depends on it. */
export const foregroundFinalizer = 'foregroundDeletion';
export const orphanFinalizer = 'orphan';
/** On every tenant, until nothing is left in it. */
export const contentsFinalizer = 'berth.dev/contents';

/** A view of a record of the authority changes only with that record. */
function refuseView(kind: KindDefinition): void {
  if (!isRecordView(kind.kind)) return;
  throw new BerthError(
    'MethodNotAllowed',
    `${kind.plural} show what the authority has recorded; they are not written as objects`,
  );
}

/**
 * Versioned objects over a store. Writes are decided on the cached object and guarded on the revisions of both
 * its keys, so that a stale cache can cost a retry and never a lost update.
 */
export class ObjectStore {
  readonly #transactions: ObjectTransactions;
  readonly #schemas = new Map<KindDefinition, unknown>();

  constructor(private readonly parts: ObjectTransactionParts & { readonly admission: Admission }) {
    this.#transactions = new ObjectTransactions(parts);
  }

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
    refuseView(kind);
    this.#refuseUnreadable(kind, asked);
    const { env } = this.parts;
    const { author = 'client' } = options;
    const isGenerated = !asked.metadata.name && asked.metadata.generateName !== undefined;
    for (let attempt = 1; ; attempt++) {
      const name = isGenerated ? generatedName(asked.metadata.generateName ?? '', env) : asked.metadata.name;
      const { status: _, ...withoutStatus } = asked;
      const metadata = this.#withOwnFinalizers(
        kind,
        newMetadata(asked.metadata, name, namespace, { env, author }),
      );
      const { object, warnings } = this.parts.admission.admit(
        kind,
        this.#tracked(kind, undefined, { ...withoutStatus, metadata }, options, tracking),
        undefined,
        options.fieldValidation ?? 'Strict',
      );
      const key = { kind: kind.kind, namespace, name };
      if (this.parts.cache.get(key) === undefined) {
        const tenantGuards = this.#transactions.tenantGuards(kind, namespace);
        if (options.dryRun) return { object, warnings };
        const created = await this.#transactions.insert(kind, key, object, tenantGuards);
        if (created !== undefined) return { ...created, warnings };
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
        schema: this.#schemaOf(kind),
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
    throw conflict(
      kind,
      key.name,
      `${attemptsMax} attempts met a change by somebody else`,
      'try again later',
    );
  }

  async #modify(
    kind: KindDefinition,
    key: ObjectKey,
    part: WritePart,
    change: (live: BerthObject) => BerthObject,
    options: WriteOptions,
    tracking: Tracking,
  ): Promise<Written> {
    refuseView(kind);
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
      const versionBefore = live.metadata.resourceVersion;
      if (options.dryRun || isDeepStrictEqual(object, live)) return { object, warnings, versionBefore };
      const isLastFinalizerGone =
        live.metadata.deletionTimestamp !== undefined && (object.metadata.finalizers?.length ?? 0) === 0;
      const outcome = isLastFinalizerGone
        ? await this.#transactions.remove(kind, cached)
        : await this.#transactions.replace(kind, cached, object, part);
      if (outcome !== undefined) return { object: outcome, warnings, versionBefore };
    }
    throw conflict(
      kind,
      key.name,
      `${attemptsMax} attempts met a change by somebody else`,
      'try again later',
    );
  }

  /** Deletes an object, or marks it for deletion while something has to be done before. */
  async delete(
    kind: KindDefinition,
    key: ObjectKey,
    options: DeleteOptions = {},
  ): Promise<{ readonly object: BerthObject; readonly isGone: boolean; readonly versionBefore: string }> {
    refuseView(kind);
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      const cached = this.parts.cache.get(key);
      if (cached === undefined) throw notFound(kind, key);
      const live = cached.object;
      checkIdentity(kind, live, options.preconditions ?? {});
      const versionBefore = live.metadata.resourceVersion;
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
      if (options.dryRun) return { object: marked, isGone, versionBefore };
      if (!isGone && isDeepStrictEqual(marked.metadata, live.metadata))
        return { object: live, isGone: false, versionBefore };
      const outcome = isGone
        ? await this.#transactions.remove(kind, cached)
        : await this.#transactions.replace(kind, cached, marked, 'spec');
      if (outcome !== undefined) return { object: outcome, isGone, versionBefore };
    }
    throw conflict(
      kind,
      key.name,
      `${attemptsMax} attempts met a change by somebody else`,
      'try again later',
    );
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
    this.#refuseUnreadable(kind, asked);
    const { status: _, ...rest } = asked;
    const metadata = updatedMetadata(live.metadata, asked.metadata, options.author ?? 'client');
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
      // What is new was made now.
      now: before === undefined ? after.metadata.creationTimestamp : timestamp(this.parts.env),
      schema: this.#schemaOf(kind),
    });
  }

  #schemaOf(kind: KindDefinition): unknown {
    const schema = this.#schemas.get(kind) ?? { type: 'object', properties: kind.fields };
    this.#schemas.set(kind, schema);
    return schema;
  }

  #refuseUnreadable(kind: KindDefinition, asked: BerthObject): void {
    if (isReadable(asked.metadata)) return;
    this.parts.admission.admit(kind, asked, undefined, 'Strict');
    assert(false, 'metadata that the server cannot read is none that the schema takes');
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
}
