/** The only tenant whose processes a node runs that cannot keep tenants apart, unless its operator allows more. */
const tenantOfOperator = 'default';

/** Whose processes an agent runs, and what its operator is told of it. */
export interface ProcessTenants {
  /** Undefined: those of every tenant. */
  readonly tenants?: readonly string[];
  readonly problem?: string;
}

/**
 * Processes of two tenants run beside each other only where the machine keeps them apart, by users and by pid namespaces, or
 * where the operator allows it all the same.
 */
export function processTenants({
  sharedUser,
  hasNamespaces,
  allowsShared,
}: {
  /** Which user the jobs of all tenants share; undefined: each tenant has its own. */
  readonly sharedUser: string | undefined;
  readonly hasNamespaces: boolean;
  readonly allowsShared: boolean;
}): ProcessTenants {
  if (sharedUser === undefined && hasNamespaces) return {};
  const why =
    sharedUser === undefined
      ? 'jobs see the processes of all tenants, because this machine gives them no pid namespace'
      : `jobs of all tenants run as ${sharedUser}`;
  if (allowsShared && sharedUser === undefined) return { problem: why };
  if (allowsShared) return { problem: `${why}: tenants are not isolated from each other or from this node` };
  return {
    tenants: [tenantOfOperator],
    problem: `${why}: this node runs processes of tenant ${tenantOfOperator} only; pass --allow-shared-user to run those of every tenant`,
  };
}
