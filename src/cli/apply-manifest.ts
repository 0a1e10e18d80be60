import { isDeepStrictEqual } from 'node:util';
import { type BerthClient, type BerthObject, isBerthError } from '../client/client.js';
import { CommandFailure } from './command-failure.js';
import { exitCodes } from './exit-codes.js';
import type { PlacedManifest } from './placed-manifests.js';

/** Who owns what these commands apply. */
export const fieldManager = 'berth';

export interface Applied {
  /** What was there before, if anything. */
  readonly before: BerthObject | undefined;
  /** What is there now, or would be; undefined where a dry run cannot tell because the tenant is not there yet. */
  readonly after: BerthObject | undefined;
  readonly change: 'created' | 'configured' | 'unchanged';
}

/** Applies one manifest by server-side apply, or tries it out. */
export async function applyManifest(
  client: BerthClient,
  manifest: PlacedManifest,
  options: {
    readonly dryRun: boolean;
    readonly force: boolean;
    /** Tenants that a real run would have created before. */
    readonly tenantsToCome: ReadonlySet<string>;
  },
): Promise<Applied> {
  const { path, name } = manifest;
  const before = await liveObject(client, manifest);
  const patch = { type: 'apply', body: manifest.body, fieldManager, force: options.force } as const;
  try {
    const after = await client.patch(path, name, patch, {
      dryRun: options.dryRun,
      fieldValidation: 'Strict',
    });
    return { before, after, change: changeOf(before, after) };
  } catch (error) {
    const isOfTenantToCome =
      options.dryRun &&
      isBerthError(error, 'NotFound') &&
      path.namespace !== undefined &&
      options.tenantsToCome.has(path.namespace);
    if (isBerthError(error, 'Conflict')) {
      const message = `${error.message}; --force-conflicts takes over what others own`;
      throw new CommandFailure(exitCodes.error, message, { cause: error });
    }
    if (!isOfTenantToCome) throw error;
    return { before: undefined, after: undefined, change: 'created' };
  }
}

async function liveObject(
  client: BerthClient,
  { path, name }: PlacedManifest,
): Promise<BerthObject | undefined> {
  try {
    return await client.get(path, name);
  } catch (error) {
    if (!isBerthError(error, 'NotFound')) throw error;
    return undefined;
  }
}

function changeOf(before: BerthObject | undefined, after: BerthObject): Applied['change'] {
  if (before === undefined) return 'created';
  return isDeepStrictEqual(withoutVersions(before), withoutVersions(after)) ? 'unchanged' : 'configured';
}

/** An object without what changes with every write. */
export function withoutVersions(
  object: BerthObject,
): Omit<BerthObject, 'metadata'> & { readonly metadata: Partial<BerthObject['metadata']> } {
  const { managedFields: _, resourceVersion: __, generation: ___, ...metadata } = object.metadata;
  return { ...object, metadata };
}
