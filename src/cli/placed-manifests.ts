import type { KindPath } from '../client/client.js';
import { nearest } from '../model/nearest.js';
import { usageFailure } from './command-failure.js';
import { apiVersionOf, type KindLookup, pathIn, type ServedKind } from './kind-lookup.js';
import { type Manifest, readManifests } from './manifests.js';
import type { Session } from './session.js';

/** A manifest with its kind and where its object is or will be. */
export interface PlacedManifest extends Manifest {
  readonly served: ServedKind;
  readonly path: KindPath;
  /** As people call it: workload/score. */
  readonly label: string;
}

// What others refer to comes first: a tenant before what is in it, classes and regions before what names them.
const firstKinds = ['Tenant', 'PriorityClass', 'Region', 'Node'];
const rank = ({ kind }: Manifest): number =>
  firstKinds.includes(kind) ? firstKinds.indexOf(kind) : firstKinds.length;

/** Reads manifests and finds their kinds, in the order in which they are to be applied. */
export async function placedManifests(
  session: Session,
  files: readonly string[],
  options: { recursive?: boolean },
): Promise<{ manifests: readonly PlacedManifest[]; problems: readonly string[] }> {
  const { manifests, problems } = readManifests(files, options);
  if (manifests.length + problems.length === 0)
    throw usageFailure(`-f ${files.join(', ')}: there are no objects in it`);
  const kinds = await session.kinds();
  const placed: PlacedManifest[] = [];
  const all = [...problems];
  const seen = new Map<string, string>();
  for (const manifest of manifests.toSorted((a, b) => rank(a) - rank(b))) {
    try {
      const found = place(manifest, kinds, session.namespace);
      const key = `${found.served.plural}/${found.path.namespace ?? ''}/${found.name}`;
      const before = seen.get(key);
      if (before !== undefined) throw new Error(`${found.label} stands at ${before} already`);
      seen.set(key, manifest.where);
      placed.push(found);
    } catch (problem) {
      all.push(`${manifest.where}: ${(problem as Error).message}`);
    }
  }
  return { manifests: placed, problems: all };
}

function place(manifest: Manifest, kinds: KindLookup, contextNamespace: string): PlacedManifest {
  const served = kinds.ofManifest(manifest.apiVersion, manifest.kind);
  if (served === undefined) throw new Error(unknownKind(manifest, kinds));
  if (!served.isNamespaced && manifest.namespace !== undefined)
    throw new Error(
      `metadata.namespace is ${JSON.stringify(manifest.namespace)}: ${served.plural} have none`,
    );
  const path = pathIn(served, manifest.namespace ?? contextNamespace);
  return { ...manifest, served, path, label: `${served.singular}/${manifest.name}` };
}

function unknownKind({ apiVersion, kind }: Manifest, kinds: KindLookup): string {
  const sameKind = kinds.kinds.find((each) => each.kind === kind);
  if (sameKind !== undefined)
    return `apiVersion is ${JSON.stringify(apiVersion)}: ${kind} is of ${apiVersionOf(sameKind)}`;
  const near = nearest(
    kind,
    kinds.kinds.map((each) => each.kind),
  );
  return `there is no kind ${JSON.stringify(kind)}${near === undefined ? '' : `; did you mean ${near}?`}`;
}
