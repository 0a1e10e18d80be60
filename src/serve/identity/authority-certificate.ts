import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import type { PublicKey } from '@peculiar/x509';
import type { Env } from '../../env/env.js';
import { type WallInstant, wallInstant, wallMs } from '../../env/instant.js';
import { BerthError } from '../../model/errors.js';
import { formatIdentity, type Identity, subjectOf } from './identity.js';
import type { CertificateContents, CertificateIssuer, CertificatePair } from './sign-certificate.js';

export type { CertificatePair } from './sign-certificate.js';

/** When a certificate is good. */
export interface Validity {
  readonly notBefore: WallInstant;
  readonly notAfter: WallInstant;
}

const dayMs = 86_400_000;
const authorityLifetimeMs = 10 * 365 * dayMs;
const serverLifetimeMs = 90 * dayMs;
const hostsAlways = ['localhost', '127.0.0.1', '::1'];
const hostsMax = 100;
// RFC 5280's upper bound on a common name; OpenSSL refuses to make longer ones.
const commonNameLengthMax = 64;

/** Makes a new CA: what it returns is all there is of it. */
export const createAuthority = (env: Env): Promise<CertificatePair> =>
  sign(env, {
    subject: [{ CN: [`berth-ca-${env.secret(4).toString('hex')}`] }],
    use: { kind: 'authority' },
    lifetimeMs: authorityLifetimeMs,
  });

/** Issues certificates with a CA's key. */
export class CertificateAuthority {
  readonly certificatePem: string;
  readonly notAfter: WallInstant;
  readonly #env: Env;
  readonly #privateKey: KeyObject;
  readonly #certificate: X509Certificate;

  private constructor(env: Env, pair: CertificatePair, privateKey: KeyObject) {
    this.#env = env;
    this.#privateKey = privateKey;
    this.#certificate = new X509Certificate(pair.certificatePem);
    this.certificatePem = pair.certificatePem;
    this.notAfter = validityOf(pair.certificatePem).notAfter;
  }

  /** Fails, saying what is wrong, on a pair that does not fit together, is no CA, or has expired. */
  static open(env: Env, pair: CertificatePair): CertificateAuthority {
    checkPair(pair);
    const certificate = new X509Certificate(pair.certificatePem);
    if (!certificate.ca || !certificate.verify(certificate.publicKey)) {
      throw new Error('the certificate is not that of a CA of its own');
    }
    const { notAfter } = validityOf(pair.certificatePem);
    if (wallMs(notAfter) <= wallMs(env.clock.wall()))
      throw new Error(`the CA expired: ${certificate.validTo}`);
    const privateKey = createPrivateKey(pair.privateKeyPem);
    if (privateKey.asymmetricKeyDetails?.namedCurve !== 'prime256v1')
      throw new Error('the private key is not one for ECDSA on P-256');
    return new CertificateAuthority(env, pair, privateKey);
  }

  /** A certificate for a server on this machine, reachable under its loopback names and the given hosts. */
  async issueServer(hosts: readonly string[]): Promise<CertificatePair> {
    return this.#issue({
      subject: [{ CN: ['berth-server'] }],
      use: { kind: 'server', hosts: serverHosts(hosts) },
      lifetimeMs: serverLifetimeMs,
    });
  }

  /**
   * A certificate that says who a client is. It cannot be revoked: `ttlMs` is what bounds it. One for a tenant names
   * its uid too, and ends with it: another tenant of the same name later is not meant.
   */
  async issueClient(identity: Identity, ttlMs: number, tenantUid?: string): Promise<CertificatePair> {
    return this.#issue(clientContents(identity, ttlMs, tenantUid));
  }

  /** The same for one who has made the key: only its public half has come here. */
  async certifyClient(identity: Identity, key: PublicKey, ttlMs: number): Promise<string> {
    const { signForKey } = await import('./sign-certificate.js');
    return signForKey(this.#env, { ...clientContents(identity, ttlMs), issuer: this.#issuer() }, key);
  }

  /** Whether this CA signed that certificate. */
  hasIssued(certificatePem: string): boolean {
    const certificate = new X509Certificate(certificatePem);
    return certificate.checkIssued(this.#certificate) && certificate.verify(this.#certificate.publicKey);
  }

  #issue(contents: CertificateContents): Promise<CertificatePair> {
    return sign(this.#env, { ...contents, issuer: this.#issuer() });
  }

  #issuer(): CertificateIssuer {
    return { certificatePem: this.certificatePem, notAfter: this.notAfter, privateKey: this.#privateKey };
  }
}

function clientContents(identity: Identity, ttlMs: number, tenantUid?: string): CertificateContents {
  if (identity.kind === 'anonymous' || identity.kind === 'join')
    throw new BerthError('InvalidIdentity', `a certificate cannot stand for ${formatIdentity(identity)}`);
  const { commonName, groups } = subjectOf(identity);
  if (commonName.length > commonNameLengthMax) {
    throw new BerthError(
      'InvalidIdentity',
      `${formatIdentity(identity)} is too long for a certificate (${commonNameLengthMax} characters); use a token`,
    );
  }
  if ((identity.kind === 'tenant') !== (tenantUid !== undefined))
    throw new BerthError(
      'InvalidIdentity',
      'a uid is named by the certificates of tenants, and by no others',
    );
  if (!(ttlMs > 0)) throw new RangeError(`issueClient(ttlMs): got ${ttlMs}, allowed is more than 0`);
  return {
    subject: [
      ...groups.map((group) => ({ O: [group] })),
      ...(tenantUid === undefined ? [] : [{ OU: [tenantUid] }]),
      { CN: [commonName] },
    ],
    use: { kind: 'client' },
    lifetimeMs: ttlMs,
  };
}

/** The hosts a server certificate names: the loopback ones, then the given ones, each once. */
export function serverHosts(hosts: readonly string[]): readonly string[] {
  for (const host of hosts) {
    const isName =
      /^(?=.{1,253}$)([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\.)*[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/i;
    if (isIP(host) === 0 && !isName.test(host)) {
      throw new BerthError('InvalidHost', `${JSON.stringify(host)} is neither an address nor a DNS name`);
    }
  }
  const all = [...new Set([...hostsAlways, ...hosts])];
  if (all.length > hostsMax) {
    throw new BerthError('InvalidHost', `a certificate names at most ${hostsMax} hosts, got ${all.length}`);
  }
  return all;
}

/** Whether a certificate is good for a host, as a TLS client would decide it. */
export function coversHost(certificatePem: string, host: string): boolean {
  const certificate = new X509Certificate(certificatePem);
  return (isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host)) !== undefined;
}

/** Whether a certificate names exactly this identity. */
export function standsFor(certificatePem: string, identity: Identity): boolean {
  const { commonName, groups } = subjectOf(identity);
  const lines = [...groups.map((group) => `O=${group}`), `CN=${commonName}`];
  return new X509Certificate(certificatePem).subject === lines.join('\n');
}

/** Fails, saying what is wrong, unless this is a certificate with the key that belongs to it. */
export function checkPair({ certificatePem, privateKeyPem }: CertificatePair): void {
  if (!new X509Certificate(certificatePem).checkPrivateKey(createPrivateKey(privateKeyPem))) {
    throw new Error('the private key does not belong to the certificate');
  }
}

export function validityOf(certificatePem: string): Validity {
  const certificate = new X509Certificate(certificatePem);
  return {
    notBefore: wallInstant(Date.parse(certificate.validFrom)),
    notAfter: wallInstant(Date.parse(certificate.validTo)),
  };
}

async function sign(env: Env, contents: CertificateContents): Promise<CertificatePair> {
  const { signCertificate } = await import('./sign-certificate.js');
  return signCertificate(env, contents);
}
