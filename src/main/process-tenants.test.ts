import { describe, expect, it } from 'vitest';
import { processTenants } from './process-tenants.js';

const apart = { sharedUser: undefined, hasNamespaces: true, allowsShared: false };

describe('whose processes a node runs', () => {
  it('those of every tenant, where users and namespaces keep them apart', () => {
    expect(processTenants(apart)).toEqual({});
  });

  it.each([
    [
      { sharedUser: 'this user (uid 1000)' },
      'jobs of all tenants run as this user (uid 1000)',
      ': tenants are not isolated from each other or from this node',
    ],
    [
      { hasNamespaces: false },
      'jobs see the processes of all tenants, because this machine gives them no pid namespace',
      '',
    ],
  ])(
    'those of default only, where they are not kept apart, and how that is changed: %o',
    (without, why, risk) => {
      const { tenants, problem } = processTenants({ ...apart, ...without });
      expect(tenants).toEqual(['default']);
      expect(problem).toBe(
        `${why}: this node runs processes of tenant default only; pass --allow-shared-user to run those of every tenant`,
      );
      const allowed = processTenants({ ...apart, ...without, allowsShared: true });
      expect(allowed).toEqual({ problem: `${why}${risk}` });
    },
  );
});
