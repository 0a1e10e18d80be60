import { BerthError } from '../../model/errors.js';

export const tenantRoles = ['viewer', 'editor', 'owner'] as const;
export type TenantRole = (typeof tenantRoles)[number];

/** Who makes a request. What each of them may do is in authorize.ts, and nowhere else. */
export type Identity =
  | { readonly kind: 'admin' }
  | { readonly kind: 'viewer' }
  | { readonly kind: 'tenant'; readonly tenant: string; readonly role: TenantRole }
  | { readonly kind: 'node'; readonly node: string }
  /** A process that plays nodes: all whose names begin with the prefix. */
  | { readonly kind: 'hollow'; readonly prefix: string }
  /** A machine that may become a node, once, by the token of this id. */
  | { readonly kind: 'join'; readonly token: string }
  | { readonly kind: 'controller'; readonly controller: string }
  | { readonly kind: 'anonymous' };

export const anonymous: Identity = { kind: 'anonymous' };

/** The form in which an identity stands in a certificate's subject: CN is who, O is what that makes them. */
export interface CertificateSubject {
  readonly commonName: string;
  readonly groups: readonly string[];
}

const labelPattern = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const nodeNameLengthMax = 253;
const isLabel = (name: string): boolean => labelPattern.test(name);
const isNodeName = (name: string): boolean =>
  name.length <= nodeNameLengthMax && name.split('.').every((label) => isLabel(label));

// A controller holds the lease of its own name (authorize.ts). These names would give it somebody else's.
const isControllerName = (name: string): boolean =>
  isLabel(name) && name !== 'authority' && !name.startsWith('node-');

// Never empty: nobody plays every node there is, also not by mistake.
const prefixPattern = /^[a-z0-9][-.a-z0-9]{0,62}$/;

const tokenIdPattern = /^[0-9a-f]{16}$/;

const isRole = (text: string): text is TenantRole => (tenantRoles as readonly string[]).includes(text);

/** One line that names the identity fully: `admin`, `tenant:fraud:editor`, `node:gpu-7`. The inverse of parse. */
export function formatIdentity(identity: Identity): string {
  switch (identity.kind) {
    case 'admin':
    case 'viewer':
    case 'anonymous':
      return identity.kind;
    case 'tenant':
      return `tenant:${identity.tenant}:${identity.role}`;
    case 'node':
      return `node:${identity.node}`;
    case 'hollow':
      return `hollow:${identity.prefix}`;
    case 'join':
      return `join:${identity.token}`;
    case 'controller':
      return `controller:${identity.controller}`;
  }
}

export function parseIdentity(text: string): Identity {
  const [kind, name, role, ...rest] = text.split(':');
  if (name === undefined && (kind === 'admin' || kind === 'viewer' || kind === 'anonymous')) return { kind };
  if (name !== undefined && rest.length === 0) {
    if (kind === 'tenant' && role !== undefined && isLabel(name) && isRole(role)) {
      return { kind, tenant: name, role };
    }
    if (kind === 'node' && role === undefined && isNodeName(name)) return { kind, node: name };
    if (kind === 'hollow' && role === undefined && prefixPattern.test(name)) return { kind, prefix: name };
    if (kind === 'join' && role === undefined && tokenIdPattern.test(name)) return { kind, token: name };
    if (kind === 'controller' && role === undefined && isControllerName(name)) {
      return { kind, controller: name };
    }
  }
  throw new BerthError(
    'InvalidIdentity',
    `${quote(text)} is not an identity; allowed are admin, viewer, tenant:NAME:viewer|editor|owner, node:NAME, ` +
      'hollow:PREFIX, join:ID, controller:NAME and anonymous, with names of lower-case letters, digits and hyphens',
  );
}

/** How a certificate, and a client that asks who it is, names the identity. */
export function subjectOf(identity: Identity): CertificateSubject {
  switch (identity.kind) {
    case 'admin':
      return { commonName: 'admin', groups: ['berth:operators'] };
    case 'viewer':
      return { commonName: 'viewer', groups: ['berth:viewers'] };
    case 'tenant':
      return {
        commonName: `tenant:${identity.tenant}`,
        groups: ['berth:tenants', `berth:role:${identity.role}`],
      };
    case 'node':
      return { commonName: `node:${identity.node}`, groups: ['berth:nodes'] };
    case 'hollow':
      return { commonName: `hollow:${identity.prefix}`, groups: ['berth:hollow'] };
    case 'join':
      return { commonName: `join:${identity.token}`, groups: ['berth:joining'] };
    case 'controller':
      return { commonName: `controller:${identity.controller}`, groups: ['berth:controllers'] };
    case 'anonymous':
      return { commonName: 'anonymous', groups: [] };
  }
}

/**
 * Only a subject that we would issue ourselves names an identity: a name with groups that do not go with it
 * is refused rather than read one way or the other. Nobody is anonymous, or joins, by certificate.
 */
export function identityOfSubject(subject: CertificateSubject): Identity {
  const { commonName, groups } = subject;
  const role = groups.find((group) => group.startsWith('berth:role:'))?.slice('berth:role:'.length);
  const identity = parseIdentity(role === undefined ? commonName : `${commonName}:${role}`);
  const expected = subjectOf(identity);
  const sameGroups =
    groups.length === expected.groups.length && expected.groups.every((group) => groups.includes(group));
  const isNobody = identity.kind === 'anonymous' || identity.kind === 'join';
  if (isNobody || expected.commonName !== commonName || !sameGroups) {
    throw new BerthError(
      'InvalidIdentity',
      `the subject CN=${quote(commonName)} with O=${quote(groups.join(', '))} is none that Berth issues`,
    );
  }
  return identity;
}

const shownLengthMax = 100;
const quote = (text: string): string =>
  JSON.stringify(text.length > shownLengthMax ? `${text.slice(0, shownLengthMax)}…` : text);
