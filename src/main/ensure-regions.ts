import { BerthError, isBerthError } from '../model/errors.js';
import type { Region, RegionSpec } from '../model/kinds/region.js';

export interface RegionAccess {
  has(name: string): Promise<boolean>;
  create(
    region: Pick<Region, 'apiVersion' | 'kind' | 'spec'> & { metadata: { name: string } },
  ): Promise<unknown>;
}

/** Makes the regions of a fleet that are missing. What is there stays as it is: it is the operator's. */
export async function ensureRegions(
  access: RegionAccess,
  regions: ReadonlyMap<string, RegionSpec>,
): Promise<void> {
  const forbidden: string[] = [];
  for (const [name, spec] of regions) {
    if (await access.has(name)) continue;
    try {
      await access.create({ apiVersion: 'berth.dev/v1', kind: 'Region', metadata: { name }, spec });
    } catch (error) {
      if (isBerthError(error, 'Forbidden')) forbidden.push(name);
      else if (!isBerthError(error, 'AlreadyExists')) throw error;
    }
  }
  if (forbidden.length > 0)
    throw new BerthError(
      'Forbidden',
      `the fleet needs regions that are not there, and you may not make them: ${forbidden.join(', ')}; ask an operator to apply them`,
    );
}
