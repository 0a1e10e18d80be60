import { type AuditReport, auditStore } from '../commit/audit-store.js';
import { CommitAuthority } from '../commit/authority.js';
import type { CommitterOptions } from '../commit/committer.js';
import type { Env } from '../env/env.js';
import { builtInObjects } from '../model/built-in-objects.js';
import { isBerthError } from '../model/errors.js';
import { kindNamed, kinds } from '../model/kinds.js';
import type { BerthObject } from '../model/object.js';
import { Validator } from '../model/validate.js';
import { Versions } from '../model/versions.js';
import { Admission } from '../objects/admission.js';
import { openCell } from '../objects/cell.js';
import { Codec } from '../objects/codec.js';
import { Collector } from '../objects/collector.js';
import { EventRetention, eventsMaxDefault } from '../objects/event-retention.js';
import { type Freshness, ownStore, SharedStore } from '../objects/freshness.js';
import { ObjectCache } from '../objects/object-cache.js';
import { ObjectLister } from '../objects/object-list.js';
import { ObjectStore } from '../objects/object-store.js';
import type { Store } from '../store/contract.js';
import { compactHistory } from './compact-history.js';

// Grows when a cell's store is restored or replaced, which nothing does yet.
const cellIncarnation = 1;

/** The objects of a cell over a store, with what keeps them in order: what every server starts with. */
export interface ControlPlane {
  /** The uid of the cell. */
  readonly cell: string;
  readonly objects: ObjectStore;
  readonly lister: ObjectLister;
  readonly cache: ObjectCache;
  /** Of this process. Other servers on the same store have their own; guards keep them from doing harm. */
  readonly authority: CommitAuthority;
  readonly audit: () => Promise<AuditReport>;
  readonly freshness: Freshness;
  readonly tenantKind: (typeof kinds)[number];
  readonly validator: Validator;
  close(): Promise<void>;
}

export interface ControlPlaneOptions {
  /** How long history is kept: a list may take that long, and a watch may be cut off that long. */
  readonly historyMs: number;
  readonly eventsTtlMs: number;
  /** Whether other servers write to the same store. */
  readonly isShared: boolean;
  /** Told of each transaction of the authority. */
  readonly onTransaction: NonNullable<CommitterOptions['onTransaction']>;
}

export async function openControlPlane(
  store: Store,
  env: Env,
  { historyMs, eventsTtlMs, isShared, onTransaction }: ControlPlaneOptions,
): Promise<ControlPlane> {
  const tenantKind = kindNamed('Tenant');
  const eventKind = kindNamed('Event');
  if (tenantKind === undefined || eventKind === undefined)
    throw new Error('there is no kind Tenant or no kind Event');
  const { base, uid: cell } = await openCell(store, env);
  const codec = new Codec();
  const versions = new Versions(base);
  const cache = new ObjectCache({ store, env, codec, versions });
  await cache.start();
  const freshness = isShared ? new SharedStore({ store, cache, env }) : ownStore(cache);
  const validator = new Validator();
  const objects = new ObjectStore({
    store,
    cache,
    freshness,
    codec,
    env,
    admission: new Admission(validator),
    tenantKind,
  });
  const lister = new ObjectLister({ store, cache, codec, env });
  await createBuiltIns(objects, cache);
  const authority = new CommitAuthority({
    ...{ store, cache, codec, env, onTransaction },
    cell: cellIncarnation,
    mayChain: !isShared,
  });

  const stop = new AbortController();
  const collecting = new Collector({ objects, cache, env, kinds, tenantKind }).run(stop.signal);
  const limits = { ttlMs: eventsTtlMs, eventsMax: eventsMaxDefault };
  const retaining = new EventRetention({ objects, cache, env, eventKind, limits }).run(stop.signal);
  const compacting = compactHistory({ store, cache, env, historyMs }, stop.signal);
  return {
    cell,
    objects,
    lister,
    cache,
    authority,
    audit: () => auditStore({ store, codec, env, versions }),
    freshness,
    tenantKind,
    validator,
    close: async () => {
      stop.abort();
      await Promise.all([collecting, retaining, compacting]);
      await cache.close();
    },
  };
}

async function createBuiltIns(objects: ObjectStore, cache: ObjectCache): Promise<void> {
  for (const builtIn of builtInObjects) {
    const kind = kindNamed(builtIn.kind);
    if (kind === undefined) throw new Error(`there is no kind ${builtIn.kind}`);
    if (cache.get({ kind: kind.kind, namespace: undefined, name: builtIn.metadata.name }) !== undefined)
      continue;
    try {
      await objects.create(kind, undefined, builtIn as unknown as BerthObject);
    } catch (error) {
      // Another server on the same store was faster.
      if (!isBerthError(error, 'AlreadyExists')) throw error;
    }
  }
}
