import { CommitAuthority } from '../../commit/authority.js';
import type { Checks } from '../../commit/checks.js';
import type { Authority, ObjectChange, Objects } from '../../model/ports.js';
import { kindNamed, kinds } from '../../model/kinds.js';
import type { Versions } from '../../model/versions.js';
import { Validator } from '../../model/validate.js';
import { Admission } from '../../objects/admission.js';
import { CachedObjects } from '../../objects/cached-objects.js';
import { Codec } from '../../objects/codec.js';
import { Collector } from '../../objects/collector.js';
import { ownStore } from '../../objects/freshness.js';
import { ObjectCache } from '../../objects/object-cache.js';
import { ObjectStore } from '../../objects/object-store.js';
import type { Store } from '../../store/contract.js';
import type { Faults } from './faults.js';
import type { Life } from './sim-process.js';

/** Compiled schemas know nothing of the world they are used in: one for all runs. */
const validator = new Validator();

/** What a process has that reaches the store itself: objects, a cache, an authority. */
export interface Reach {
  readonly life: Life;
  readonly cache: ObjectCache;
  readonly objects: Objects;
  readonly authority: Authority;
  /** Deletes what has lost its owners, as servers do. */
  readonly collector: Collector;
}

const retryMs = 300;

/** Opens what a server is made of; tries until the store answers. */
export async function reachStore(
  life: Life,
  {
    store,
    versions,
    checks,
  }: { readonly store: Store; readonly versions: Versions; readonly checks: Checks },
): Promise<Reach> {
  const codec = new Codec();
  const { env } = life;
  const cache = new ObjectCache({ store, env, codec, versions });
  for (;;) {
    try {
      await cache.start();
      break;
    } catch {
      await env.sleep(retryMs);
    }
  }
  const tenantKind = kindNamed('Tenant');
  if (tenantKind === undefined) throw new Error('there is no kind Tenant');
  const objectStore = new ObjectStore({
    ...{ store, cache, codec, env, tenantKind },
    admission: new Admission(validator),
    // What its writes are decided on may be old: they are guarded, and being old is part of the world.
    freshness: ownStore(cache),
  });
  const objects = new CachedObjects({ objects: objectStore, cache, manager: life.member.name });
  return {
    ...{ life, cache, objects },
    collector: new Collector({ objects: objectStore, cache, env, kinds, tenantKind }),
    authority: new CommitAuthority({ store, cache, codec, env, cell: 1, checks }),
  };
}

/** Changes that wake controllers, some of which wake nobody: what waits for them is found by the next resync. */
export const wakeUpsOf = ({ objects, life }: Reach, faults: Faults): Pick<Objects, 'follow'> => ({
  follow: (onChange, onGap, signal, ofKinds) =>
    objects.follow(
      (change: ObjectChange) => {
        if (!faults.strikes('wakeUp.dropped', life.env.random)) onChange(change);
      },
      onGap,
      signal,
      ofKinds,
    ),
});
