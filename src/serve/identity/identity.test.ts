import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isBerthError } from '../../model/errors.js';
import { formatIdentity, type Identity, identityOfSubject, parseIdentity, subjectOf } from './identity.js';

const identities: readonly Identity[] = [
  { kind: 'admin' },
  { kind: 'viewer' },
  { kind: 'tenant', tenant: 'fraud', role: 'viewer' },
  { kind: 'tenant', tenant: 'fraud', role: 'editor' },
  { kind: 'tenant', tenant: 'f', role: 'owner' },
  { kind: 'node', node: 'gpu-7.rack-2.example' },
  { kind: 'hollow', prefix: 'node-' },
  { kind: 'controller', controller: 'scheduler' },
];

describe('an identity', () => {
  it.each([
    ...identities,
    { kind: 'anonymous' } as const,
    { kind: 'join', token: '0123456789abcdef' } as const,
  ])('is the same after format and parse: %o', (identity) => {
    expect(parseIdentity(formatIdentity(identity))).toEqual(identity);
  });

  it.each(identities)('is the same after a trip through a certificate subject: %o', (identity) => {
    const { commonName, groups } = subjectOf(identity);
    expect(identityOfSubject({ commonName, groups: groups.toReversed() })).toEqual(identity);
  });

  it.each([
    '',
    'root',
    'Admin',
    'admin:',
    'admin:x',
    'admin ',
    'tenant',
    'tenant:fraud',
    'tenant:fraud:admin',
    'tenant:fraud:owner:x',
    'tenant::owner',
    'tenant:a.b:owner',
    'tenant:-a:owner',
    `tenant:${'a'.repeat(64)}:owner`,
    'node:',
    'node:a..b',
    'node:A',
    'node:a/b',
    'node:a:b',
    `node:${'a.'.repeat(127)}`,
    'controller:authority',
    'controller:node-7',
    'controller:a_b',
    '__proto__',
    'constructor:x',
  ])('is not read from %j', (text) => {
    expect(() => parseIdentity(text)).toThrow('is not an identity; allowed are admin, viewer');
  });

  it.each([
    ['admin without its group', 'admin', []],
    ['admin with another group', 'admin', ['berth:viewers']],
    ['admin with one group more', 'admin', ['berth:operators', 'berth:nodes']],
    ['a tenant without a role', 'tenant:fraud', ['berth:tenants']],
    ['a tenant with two roles', 'tenant:fraud', ['berth:tenants', 'berth:role:viewer', 'berth:role:owner']],
    ['a role inside the name', 'tenant:fraud:owner', ['berth:tenants', 'berth:role:owner']],
    ['a role inside the name only', 'tenant:fraud:owner', ['berth:tenants']],
    ['a group twice in place of two', 'tenant:fraud', ['berth:role:owner', 'berth:role:owner']],
    ['anonymous', 'anonymous', []],
    ['the server itself', 'berth-server', []],
    ['nothing', '', []],
  ])('is not read from the subject of %s', (_what, commonName, groups) => {
    expect(() => identityOfSubject({ commonName, groups })).toThrow(
      /is not an identity|is none that Berth issues/,
    );
  });

  it('is never read from arbitrary text without a coded error', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        try {
          return formatIdentity(parseIdentity(text)) === text;
        } catch (error) {
          return isBerthError(error, 'InvalidIdentity') && error.message.length < 900;
        }
      }),
    );
  });
});
