import type { Env } from '../env/env.js';
import { kindNamed } from '../model/kinds.js';
import type { KindDefinition } from '../model/kind.js';
import type { BerthObject } from '../model/object.js';
import { Validator } from '../model/validate.js';
import { Versions } from '../model/versions.js';
import type { Store } from '../store/contract.js';
import { Admission } from './admission.js';
import { openCell } from './cell.js';
import { Codec } from './codec.js';
import { type Freshness, ownStore } from './freshness.js';
import { ObjectCache } from './object-cache.js';
import { ObjectLister } from './object-list.js';
import { ObjectStore } from './object-store.js';

export const kindOf = (name: string): KindDefinition => {
  const kind = kindNamed(name);
  if (kind === undefined) throw new Error(`no kind ${name}`);
  return kind;
};

/** Objects over a store, as a server puts them together, for tests. */
export async function openObjects(
  store: Store,
  env: Env,
  freshnessOf: (store: Store, cache: ObjectCache) => Freshness = (_, cache) => ownStore(cache),
) {
  const { base } = await openCell(store, env);
  const codec = new Codec();
  const cache = new ObjectCache({ store, env, codec, versions: new Versions(base) });
  await cache.start();
  const tenantKind = kindOf('Tenant');
  const admission = new Admission(new Validator());
  const freshness = freshnessOf(store, cache);
  const objects = new ObjectStore({
    store,
    cache,
    freshness,
    codec,
    env,
    admission,
    tenantKind,
  });
  const lister = new ObjectLister({ store, cache, codec, env });
  return { store, cache, freshness, objects, lister, tenantKind };
}

/** An object as a client would send it. */
export const draft = (kind: string, name: string, spec: object, metadata: object = {}): BerthObject =>
  ({ apiVersion: 'berth.dev/v1', kind, metadata: { name, ...metadata }, spec }) as unknown as BerthObject;

export const workload = (name: string, spec: object = {}, metadata: object = {}): BerthObject =>
  draft(
    'Workload',
    name,
    { type: 'Service', replicas: 1, template: { run: { process: { command: ['sleep', '1'] } } }, ...spec },
    metadata,
  );
