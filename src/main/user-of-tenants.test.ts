import { describe, expect, it } from 'vitest';
import { tenantUser, tenantUsersUsual } from '../agent/machine/tenant-user.js';
import { userOfTenants } from './user-of-tenants.js';

const everything = '         0          0 4294967295\n';
const asRoot = { uid: 0, idMaps: [everything, everything] };
const inContainer = { uid: 0, idMaps: [everything, '         0     100000      65536\n'] };

describe('who jobs of tenants run as', () => {
  it('under root each as its own user, of the usual range or of one that is named', () => {
    expect(userOfTenants({}, asRoot).userOf?.('red')).toEqual(tenantUser('red', tenantUsersUsual));
    const one = { from: 70_000, count: 1 };
    expect(userOfTenants({ tenantUsers: one }, asRoot).userOf?.('red')).toEqual({
      uid: 70_000,
      gid: 70_000,
    });
  });

  it('as one user, or as root, where the operator says so; and as the agent where that is nobody special', () => {
    const chosen = userOfTenants({ runAs: 'nobody' }, asRoot);
    expect([chosen.userOf?.('red').uid, chosen.shared]).toEqual([65_534, undefined]);
    expect(userOfTenants({ runAs: 'root' }, asRoot)).toEqual({});
    expect(userOfTenants({}, { ...asRoot, uid: 1_000 })).toEqual({ shared: 'this user (uid 1000)' });
  });

  it('as nobody where the machine has too few users, and that is said', () => {
    const { userOf, shared } = userOfTenants({}, inContainer);
    expect(userOf?.('red')).toEqual(userOf?.('blue'));
    expect(shared).toBe('user nobody (there are no users 2001000000 to 2100999999 on this machine)');
  });

  it.each([
    [
      { runAs: 'www-data' },
      { ...asRoot, uid: 1_000 },
      'spec.runAs: www-data: only an agent that runs as root',
    ],
    [{ tenantUsers: tenantUsersUsual }, { ...asRoot, uid: 1_000 }, 'spec.tenantUsers: only an agent'],
    [{ runAs: 'nobody', tenantUsers: tenantUsersUsual }, asRoot, 'spec.tenantUsers: not with runAs'],
    [
      { tenantUsers: tenantUsersUsual },
      inContainer,
      'spec.tenantUsers: there are no users 2001000000 to 2100999999',
    ],
  ])('is refused with the field: %o', (config, where, message) => {
    expect(() => userOfTenants(config, where)).toThrow(message);
  });
});
