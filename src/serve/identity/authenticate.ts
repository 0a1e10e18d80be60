import { createHash, type X509Certificate } from 'node:crypto';
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
  /** SHA-256 of its public key, hexadecimal. */
  readonly keyHash: string;
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
    /** Of the key that this node has joined with last; undefined if it was set up otherwise. */
    readonly nodeKeyHash: (node: string) => Promise<string | undefined>;
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
    if (named.kind === 'refused') return named;
    const reason = await whyReplaced(parts, named.identity, certificate);
    return reason === undefined ? named : refused(reason);
  }
  return { kind: 'identity', identity: anonymous, by: 'nothing' };
}

/** Names are given anew: to another tenant, or to another machine that joined as this node. A certificate of before is over. */
async function whyReplaced(
  { tenantUid, nodeKeyHash }: Pick<Parameters<typeof authenticate>[0], 'tenantUid' | 'nodeKeyHash'>,
  identity: Identity,
  { tenantUids: [uid, ...more], keyHash }: ClientCertificate,
): Promise<string | undefined> {
  if (identity.kind === 'tenant') {
    const { tenant } = identity;
    const isMeant = uid !== undefined && more.length === 0 && uid === (await tenantUid(tenant));
    return isMeant ? undefined : `the tenant ${tenant} that the client certificate was made for is gone`;
  }
  if (identity.kind === 'node') {
    const { node } = identity;
    const current = await nodeKeyHash(node);
    if (current !== undefined && current !== keyHash)
      return `node ${node} has joined again, with another key than that of this client certificate`;
  }
  return undefined;
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
    keyHash: keyHashOf(socket.getPeerX509Certificate()),
    notAfter: wallInstant(Date.parse(peer.valid_to ?? '') || 0),
  };
}

const keyHashOf = (certificate: X509Certificate | undefined): string =>
  certificate === undefined
    ? ''
    : createHash('sha256')
        .update(certificate.publicKey.export({ type: 'spki', format: 'der' }))
        .digest('hex');

const refused = (reason: string, httpStatus: 401 | 403 = 401) =>
  ({ kind: 'refused', httpStatus, reason }) as const;
