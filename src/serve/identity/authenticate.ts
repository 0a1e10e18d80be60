import type { TLSSocket } from 'node:tls';
import type { Env } from '../../env/env.js';
import { type WallInstant, wallInstant, wallMs, wallTimestamp } from '../../env/instant.js';
import { isBerthError } from '../../model/errors.js';
import { anonymous, type Identity, identityOfSubject } from './identity.js';
import type { Tokens } from './tokens.js';

/** What TLS knows of the other side's certificate. */
export interface ClientCertificate {
  /** Why TLS does not trust it, if it does not. */
  readonly distrust?: string;
  readonly commonNames: readonly string[];
  readonly groups: readonly string[];
  /** Of a tenant: which of those that have had its name. */
  readonly tenantUids: readonly string[];
  readonly notAfter: WallInstant;
}

export type Authentication =
  | {
      readonly kind: 'identity';
      readonly identity: Identity;
      readonly by: 'token' | 'certificate' | 'nothing';
    }
  /** Credentials that were given and do not hold are an error; they never turn into anonymous. */
  | { readonly kind: 'refused'; readonly httpStatus: 401 | 403; readonly reason: string };

export type RequestHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

// Far above any token of ours, far below what would cost anything to look at.
const headerLengthMax = 4096;

/** Who makes a request: a bearer token if there is one, else a client certificate, else anonymous. */
export async function authenticate(
  parts: {
    readonly env: Env;
    readonly tokens: Tokens;
    /** The uid of the tenant that now has this name; undefined if there is none. */
    readonly tenantUid: (tenant: string) => Promise<string | undefined>;
  },
  request: { readonly headers: RequestHeaders; readonly certificate: ClientCertificate | undefined },
): Promise<Authentication> {
  const { headers, certificate } = request;
  // To ignore these would run a request with other rights than its sender meant.
  const impersonates = Object.keys(headers).find((name) => name.toLowerCase().startsWith('impersonate-'));
  if (impersonates !== undefined) {
    return refused(`impersonation is not supported; leave out the header ${impersonates.slice(0, 100)}`, 403);
  }
  const { authorization } = headers;
  if (authorization !== undefined) {
    const token = bearerOf(authorization);
    if (token.kind === 'refused') return token;
    const outcome = await parts.tokens.authenticate(token.text);
    return outcome.kind === 'refused'
      ? refused(outcome.reason)
      : { kind: 'identity', identity: outcome.identity, by: 'token' };
  }
  if (certificate !== undefined) {
    const named = byCertificate(certificate, parts.env.clock.wall());
    if (named.kind === 'refused' || named.identity.kind !== 'tenant') return named;
    const { tenant } = named.identity;
    const [uid, ...more] = certificate.tenantUids;
    const isMeant = uid !== undefined && more.length === 0 && uid === (await parts.tenantUid(tenant));
    return isMeant ? named : refused(`the tenant ${tenant} that the client certificate was made for is gone`);
  }
  return { kind: 'identity', identity: anonymous, by: 'nothing' };
}

function bearerOf(header: string | readonly string[]) {
  if (typeof header !== 'string') return refused('more than one Authorization header was given');
  if (header.length > headerLengthMax) {
    return refused(`the Authorization header is longer than ${headerLengthMax} characters`);
  }
  const [, scheme, rest] = /^(\S*)(.*)$/s.exec(header.trim()) ?? [];
  const text = rest?.trim() ?? '';
  if (scheme === '' || scheme === undefined) return refused('the Authorization header is empty');
  if (scheme.toLowerCase() !== 'bearer') {
    // The scheme is not repeated: who forgets the word Bearer has put a secret in its place.
    return refused('the Authorization header does not start with Bearer, the only scheme there is');
  }
  if (text === '') return refused('the Authorization header has no token after Bearer');
  if (/\s/.test(text)) return refused('the token in the Authorization header contains white space');
  return { kind: 'token', text } as const;
}

function byCertificate(certificate: ClientCertificate, now: WallInstant): Authentication {
  if (certificate.distrust !== undefined) {
    return refused(`the client certificate is not trusted: ${certificate.distrust}`);
  }
  // TLS looked at this when the connection was made; a connection may outlive its certificate.
  if (wallMs(certificate.notAfter) <= wallMs(now)) {
    return refused(`the client certificate expired at ${wallTimestamp(certificate.notAfter)}`);
  }
  let named = namedBy.get(certificate);
  if (named === undefined) {
    named = identityNamedBy(certificate);
    namedBy.set(certificate, named);
  }
  return named;
}

// A connection has one certificate, which does not change, and asks with every request.
const namedBy = new WeakMap<ClientCertificate, Authentication>();

function identityNamedBy(certificate: ClientCertificate): Authentication {
  const [commonName, ...more] = certificate.commonNames;
  if (commonName === undefined || more.length > 0) {
    return refused('the client certificate does not have exactly one common name');
  }
  try {
    const identity = identityOfSubject({ commonName, groups: certificate.groups });
    return { kind: 'identity', identity, by: 'certificate' };
  } catch (error) {
    if (!isBerthError(error, 'InvalidIdentity')) throw error;
    return refused(`the client certificate names no identity: ${error.message}`);
  }
}

/** Reads the certificate of a connection whose server asked for one (requestCert, without rejectUnauthorized). */
export function clientCertificateOf(socket: TLSSocket): ClientCertificate | undefined {
  // Node's types do not say that it is undefined or empty without a certificate, nor that a name may repeat.
  const peer = socket.getPeerCertificate() as
    | { subject?: Record<string, string | string[] | undefined>; valid_to?: string }
    | undefined;
  if (peer?.subject === undefined) return undefined;
  const { subject } = peer;
  const distrust = socket.authorized ? {} : { distrust: String(socket.authorizationError) };
  return {
    ...distrust,
    commonNames: [subject['CN'] ?? []].flat(),
    groups: [subject['O'] ?? []].flat(),
    tenantUids: [subject['OU'] ?? []].flat(),
    notAfter: wallInstant(Date.parse(peer.valid_to ?? '') || 0),
  };
}

const refused = (reason: string, httpStatus: 401 | 403 = 401) =>
  ({ kind: 'refused', httpStatus, reason }) as const;
