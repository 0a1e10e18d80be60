import { type BerthObject, isBerthError, type KindPath } from '../client/client.js';
import { kinds as definitions } from '../model/kinds.js';
import type { Failures } from './failures.js';
import { apiVersionOf, pathIn, type ServedKind } from './kind-lookup.js';
import { setLabel } from './object-set.js';
import type { PlacedManifest } from './placed-manifests.js';
import type { Session } from './session.js';
import { print } from './terminal.js';

/** Deletes the objects of a set that are no longer among its manifests. Only kinds that users write can be in a set. */
export async function pruneSet(
  session: Session,
  set: string,
  manifests: readonly PlacedManifest[],
  { dryRun, failures }: { readonly dryRun: boolean; readonly failures: Failures },
): Promise<void> {
  const kept = new Set(manifests.map(({ served, path, name }) => keyOf(served, path.namespace, name)));
  const written = new Set(definitions.filter(({ isApplied }) => isApplied).map(({ kind }) => kind));
  const namespaces = new Set([session.namespace, ...manifests.flatMap(({ path }) => path.namespace ?? [])]);
  // What is in a tenant goes before the tenant.
  const served = (await session.kinds()).kinds
    .filter((kind) => apiVersionOf(kind) === 'berth.dev/v1' && written.has(kind.kind))
    .toSorted((a, b) => Number(b.isNamespaced) - Number(a.isNamespaced));
  for (const kind of served) {
    for (const { metadata } of await membersOf(session, kind, set, namespaces)) {
      if (kept.has(keyOf(kind, metadata.namespace, metadata.name))) continue;
      const label = `${kind.singular}/${metadata.name}`;
      try {
        await session.client.delete(pathIn(kind, metadata.namespace), metadata.name, {
          dryRun,
          preconditions: { uid: metadata.uid },
        });
        print(`${label} pruned${dryRun ? ' (dry run)' : ''}`);
      } catch (error) {
        if (!isBerthError(error, 'NotFound')) failures.add(label, error);
      }
    }
  }
}

const keyOf = ({ plural }: ServedKind, namespace: string | undefined, name: string): string =>
  `${plural}/${namespace ?? ''}/${name}`;

/** The objects of a set, of one kind. Who may not look everywhere looks in the namespaces concerned. */
async function membersOf(
  { client }: Session,
  kind: ServedKind,
  set: string,
  namespaces: ReadonlySet<string>,
): Promise<BerthObject[]> {
  const members = async (path: KindPath): Promise<readonly BerthObject[]> =>
    (await client.list(path, { labelSelector: `${setLabel}=${set}` })).items;
  try {
    return [...(await members(pathIn(kind, undefined)))];
  } catch (error) {
    if (!isBerthError(error, 'Forbidden')) throw error;
    // Who may not read a kind of the cluster has applied none.
    if (!kind.isNamespaced) return [];
    const lists = await Promise.all([...namespaces].map((namespace) => members(pathIn(kind, namespace))));
    return lists.flat();
  }
}
