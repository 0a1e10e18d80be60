import type { Env } from '../env/env.js';
import { BerthError } from '../model/errors.js';
import type { KindDefinition } from '../model/kind.js';
import type { BerthObject } from '../model/object.js';
import { plus } from '../model/plus.js';
import { tenantAccountKey } from '../model/records.js';
import { asRevision, type Guard, type Revision, type Store, type Write } from '../store/contract.js';
import { shownJson, takeApart } from './assemble.js';
import type { Codec } from './codec.js';
import type { Freshness } from './freshness.js';
import { type ObjectKey, storeKey } from './keys.js';
import type { CachedObject } from './cached-object.js';
import type { ObjectCache } from './object-cache.js';
import { conflict, unknownOutcome } from './object-errors.js';

export interface ObjectTransactionParts {
  readonly store: Store;
  readonly cache: ObjectCache;
  readonly freshness: Freshness;
  readonly codec: Codec;
  readonly env: Env;
  /** The kind whose objects are the namespaces of all tenant-scoped objects. */
  readonly tenantKind: KindDefinition;
}

/** Which part of an object a write is about. The other parts stay as they are, whatever the client sent. */
export type WritePart = 'spec' | 'status';

// A write that was decided on what the cache shows is tried again with what has changed since. Somebody else
// must have written each time, so this many failures mean real contention.
export const attemptsMax = 10;

// How long a write waits for the cache: to be decided on what has changed, and to be shown once it is written.
const sightMsMax = 2_500;
const showMsMax = 1_000;

/**
 * The transactions that objects are written with: one each, guarded on both keys of the object, so that what was
 * decided on a stale cache is never applied. Each answers when the cache shows what was written.
 */
export class ObjectTransactions {
  constructor(private readonly parts: ObjectTransactionParts) {}

  /** A tenant that is not there, or is going, cannot own anything new: checked inside the transaction. */
  tenantGuards(kind: KindDefinition, namespace: string | undefined): readonly Guard[] {
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
  async insert(
    kind: KindDefinition,
    key: ObjectKey,
    object: BerthObject,
    tenantGuards: readonly Guard[],
  ): Promise<{ readonly object: BerthObject; readonly json: string } | undefined> {
    let guards = tenantGuards;
    const objectKey = storeKey('o', key);
    const own = [objectKey, storeKey('s', key)];
    const { stored } = takeApart(object);
    const storedJson = JSON.stringify(stored);
    const value = this.parts.codec.encode(stored, storedJson);
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      const outcome = await this.parts.store.transact({
        guards: [...own.map((absent): Guard => ({ kind: 'absent', key: absent })), ...guards],
        writes: [{ kind: 'put', key: objectKey, value }],
      });
      switch (outcome.kind) {
        case 'Committed':
          return {
            object: await this.#written(object, outcome.revision),
            json: shownJson(storedJson, this.#versionAt(outcome.revision)),
          };
        case 'UnknownOutcome':
          throw unknownOutcome(kind, key.name, outcome.cause);
        case 'GuardFailed':
          await this.#sees(outcome.failed.map((failed) => failed.current));
          if (outcome.failed.some(({ guard }) => own.includes(guard.key))) return undefined;
          guards = this.tenantGuards(kind, key.namespace);
      }
    }
    throw conflict(kind, key.name, `its tenant changed ${attemptsMax} times meanwhile`, 'try again later');
  }

  /** Writes a changed object; undefined if it has changed since it was read. */
  async replace(
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

  /**
   * Deletes an object; undefined if it has changed since it was read. With a tenant goes its account, in which nothing is
   * left by then: the next of that name begins without a grant.
   */
  async remove(kind: KindDefinition, cached: CachedObject): Promise<BerthObject | undefined> {
    const keys = [storeKey('o', cached.key), storeKey('s', cached.key)];
    if (kind === this.parts.tenantKind) keys.push(tenantAccountKey(cached.key.name));
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
        if (currents.includes(undefined)) {
          await this.parts.env.sleep(1);
          await this.parts.freshness.catchUp();
        }
        await this.#sees(currents);
        return undefined;
      }
    }
  }

  /** Waits until the cache shows what stood in the way of a write, so that the next attempt is decided on it. */
  async #sees(entries: readonly ({ readonly modRevision: Revision } | undefined)[]): Promise<void> {
    const newest = asRevision(Math.max(0, ...entries.map((entry) => entry?.modRevision ?? 0)));
    if (await this.parts.freshness.arrives(newest, sightMsMax)) return;
    throw new BerthError(
      'StoreUnavailable',
      `this server has not yet seen revision ${newest} of the store, which this write has to be decided on; nothing was written`,
    );
  }

  /** Answers with the object as written, once the cache shows it: whoever reads next sees it. */
  async #written(object: BerthObject, revision: Revision): Promise<BerthObject> {
    // A cache that is cut off does not show the object in time. The object is written all the same, and the next read catches up.
    await this.parts.freshness.arrives(revision, showMsMax);
    return { ...object, metadata: plus(object.metadata, { resourceVersion: this.#versionAt(revision) }) };
  }

  #versionAt(revision: Revision): string {
    return String(this.parts.cache.versions.ofObject(revision));
  }
}
