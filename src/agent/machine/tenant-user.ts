import { createHash } from 'node:crypto';

/** Ids of users that nothing else on the machine has. */
export interface IdRange {
  readonly from: number;
  readonly count: number;
}

/**
 * Above what distributions, containers and directory services give out, and below what does not fit 31 bits. So many that
 * two of a hundred tenants share one with a chance of one in twenty thousand.
 */
export const tenantUsersUsual: IdRange = { from: 2_001_000_000, count: 100_000_000 };

/** Whom processes of a tenant run as: the same on every start and every machine, so that files stay theirs. */
export function tenantUser(
  tenant: string,
  { from, count }: IdRange,
): { readonly uid: number; readonly gid: number } {
  const id = from + (createHash('sha256').update(tenant).digest().readUIntBE(0, 6) % count);
  return { uid: id, gid: id };
}

/** Whether all of them exist here, by /proc/self/uid_map: in a container there may be fewer. */
export const areIdsMapped = (map: string, { from, count }: IdRange): boolean =>
  map.split('\n').some((line) => {
    const [first = 0, , many = 0] = line.trim().split(/\s+/).map(Number);
    return many > 0 && from >= first && from + count <= first + many;
  });
