import { describe, expect, it } from 'vitest';
import { tenantUser, tenantUsersUsual } from '../agent/machine/tenant-user.js';
import { userOfTenants } from './user-of-tenants.js';

const everything = '         0          0 4294967295\n';
const asRoot = { isRoot: true, idMaps: [everything, everything] };
const inContainer = { isRoot: true, idMaps: [everything, '         0     100000      65536\n'] };
const unexpected = (line: string): void => {
  throw new Error(line);
};

describe('who jobs of tenants run as', () => {
  it('under root each as its own user, of the usual range or of one that is named', () => {
    expect(userOfTenants({}, unexpected, asRoot)?.('red')).toEqual(tenantUser('red', tenantUsersUsual));
    const one = { from: 70_000, count: 1 };
    expect(userOfTenants({ tenantUsers: one }, unexpected, asRoot)?.('red')).toEqual({
      uid: 70_000,
      gid: 70_000,
    });
  });

  it('as one user, or as root, where the operator says so; and as the agent where that is nobody special', () => {
    expect(userOfTenants({ runAs: 'nobody' }, unexpected, asRoot)?.('red').uid).toBe(65_534);
    expect(userOfTenants({ runAs: 'root' }, unexpected, asRoot)).toBeUndefined();
    expect(userOfTenants({}, unexpected, { ...asRoot, isRoot: false })).toBeUndefined();
  });

  it('as nobody where the machine has too few users, and that is said', () => {
    const problems: string[] = [];
    const userOf = userOfTenants({}, (line) => problems.push(line), inContainer);
    expect(userOf?.('red')).toEqual(userOf?.('blue'));
    expect(problems.join()).toContain('jobs of all tenants run as nobody, and are not kept apart');
  });

  it.each([
    [
      { runAs: 'www-data' },
      { ...asRoot, isRoot: false },
      'spec.runAs: www-data: only an agent that runs as root',
    ],
    [{ tenantUsers: tenantUsersUsual }, { ...asRoot, isRoot: false }, 'spec.tenantUsers: only an agent'],
    [{ runAs: 'nobody', tenantUsers: tenantUsersUsual }, asRoot, 'spec.tenantUsers: not with runAs'],
    [
      { tenantUsers: tenantUsersUsual },
      inContainer,
      'spec.tenantUsers: there are no users 2001000000 to 2100999999',
    ],
  ])('is refused with the field: %o', (config, where, message) => {
    expect(() => userOfTenants(config, unexpected, where)).toThrow(message);
  });
});
