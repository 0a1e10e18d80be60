// The decorators that @peculiar/x509 is built with need this first.
// oxlint-disable-next-line import/no-unassigned-import
import 'reflect-metadata';
import { createPrivateKey, webcrypto, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type Extension,
  type JsonGeneralName,
  KeyUsageFlags,
  KeyUsagesExtension,
  type JsonName,
  type Name,
  PublicKey,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate as ReadableCertificate,
  X509CertificateGenerator,
} from '@peculiar/x509';
import type { Env } from '../../env/env.js';
import { plusMs, type WallInstant, wallInstant, wallMs } from '../../env/instant.js';
import { BerthError } from '../../model/errors.js';
import { formatIdentity, type Identity, subjectOf } from './identity.js';

/** A certificate and its private key, as PEM text. */
export interface CertificatePair {
  readonly certificatePem: string;
  readonly privateKeyPem: string;
}

/** When a certificate is good. */
export interface Validity {
  readonly notBefore: WallInstant;
  readonly notAfter: WallInstant;
}

const dayMs = 86_400_000;
const authorityLifetimeMs = 10 * 365 * dayMs;
const serverLifetimeMs = 90 * dayMs;
// Certificates are good from a little before they are made, for clients whose clock is behind.
const backdateMs = 5 * 60_000;
const hostsAlways = ['localhost', '127.0.0.1', '::1'];
const hostsMax = 100;
// RFC 5280's upper bound on a common name; OpenSSL refuses to make longer ones.
const commonNameLengthMax = 64;

const keyAlgorithm = { name: 'ECDSA', namedCurve: 'P-256' };
const signingAlgorithm = { name: 'ECDSA', hash: 'SHA-256' };
const { subtle } = webcrypto;

/** Makes a new CA: what it returns is all there is of it. */
export async function createAuthority(env: Env): Promise<CertificatePair> {
  const keys = await newKeys();
  const name: JsonName = [{ CN: [`berth-ca-${env.secret(4).toString('hex')}`] }];
  const certificatePem = await sign(env, {
    key: keys.publicKey,
    subject: name,
    issuer: name,
    signingKey: keys.privateKey,
    lifetimeMs: authorityLifetimeMs,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey, false, webcrypto),
    ],
  });
  return { certificatePem, privateKeyPem: await privateKeyPemOf(keys) };
}

/** Issues certificates with a CA's key. */
export class CertificateAuthority {
  readonly certificatePem: string;
  readonly notAfter: WallInstant;
  readonly #env: Env;
  readonly #signingKey: webcrypto.CryptoKey;
  readonly #certificate: X509Certificate;

  private constructor(env: Env, pair: CertificatePair, signingKey: webcrypto.CryptoKey) {
    this.#env = env;
    this.#signingKey = signingKey;
    this.#certificate = new X509Certificate(pair.certificatePem);
    this.certificatePem = pair.certificatePem;
    this.notAfter = validityOf(pair.certificatePem).notAfter;
  }

  /** Fails, saying what is wrong, on a pair that does not fit together, is no CA, or has expired. */
  static async open(env: Env, pair: CertificatePair): Promise<CertificateAuthority> {
    checkPair(pair);
    const certificate = new X509Certificate(pair.certificatePem);
    if (!certificate.ca || !certificate.verify(certificate.publicKey)) {
      throw new Error('the certificate is not that of a CA of its own');
    }
    const { notAfter } = validityOf(pair.certificatePem);
    if (wallMs(notAfter) <= wallMs(env.clock.wall()))
      throw new Error(`the CA expired: ${certificate.validTo}`);
    const key = createPrivateKey(pair.privateKeyPem).export({ format: 'der', type: 'pkcs8' });
    const signingKey = await subtle.importKey('pkcs8', key, keyAlgorithm, false, ['sign']);
    return new CertificateAuthority(env, pair, signingKey);
  }

  /** A certificate for a server on this machine, reachable under its loopback names and the given hosts. */
  async issueServer(hosts: readonly string[]): Promise<CertificatePair> {
    const keys = await newKeys();
    const subject = [{ CN: ['berth-server'] }];
    const names = new SubjectAlternativeNameExtension(
      serverHosts(hosts).map((host): JsonGeneralName => ({ type: isIP(host) ? 'ip' : 'dns', value: host })),
    );
    const usage = ExtendedKeyUsage.serverAuth;
    const certificatePem = await this.#certify(keys.publicKey, subject, serverLifetimeMs, usage, [names]);
    return { certificatePem, privateKeyPem: await privateKeyPemOf(keys) };
  }

  /** A certificate that says who a client is. It cannot be revoked: `ttlMs` is what bounds it. */
  async issueClient(identity: Identity, ttlMs: number): Promise<CertificatePair> {
    const keys = await newKeys();
    const certificatePem = await this.certifyClient(identity, keys.publicKey, ttlMs);
    return { certificatePem, privateKeyPem: await privateKeyPemOf(keys) };
  }

  /** The same for one who has made the key: only its public half has come here. */
  async certifyClient(
    identity: Identity,
    key: webcrypto.CryptoKey | PublicKey,
    ttlMs: number,
  ): Promise<string> {
    if (identity.kind === 'anonymous' || identity.kind === 'join')
      throw new BerthError('InvalidIdentity', `a certificate cannot stand for ${formatIdentity(identity)}`);
    const { commonName, groups } = subjectOf(identity);
    if (commonName.length > commonNameLengthMax) {
      throw new BerthError(
        'InvalidIdentity',
        `${formatIdentity(identity)} is too long for a certificate (${commonNameLengthMax} characters); use a token`,
      );
    }
    if (!(ttlMs > 0)) throw new RangeError(`issueClient(ttlMs): got ${ttlMs}, allowed is more than 0`);
    return this.#certify(
      key,
      [...groups.map((group) => ({ O: [group] })), { CN: [commonName] }],
      ttlMs,
      ExtendedKeyUsage.clientAuth,
      [],
    );
  }

  /** Whether this CA signed that certificate. */
  hasIssued(certificatePem: string): boolean {
    const certificate = new X509Certificate(certificatePem);
    return certificate.checkIssued(this.#certificate) && certificate.verify(this.#certificate.publicKey);
  }

  async #certify(
    key: webcrypto.CryptoKey | PublicKey,
    subject: JsonName,
    lifetimeMs: number,
    usage: ExtendedKeyUsage,
    extensions: readonly Extension[],
  ): Promise<string> {
    const authorityKey = new PublicKey(this.#certificate.publicKey.export({ format: 'der', type: 'spki' }));
    return sign(this.#env, {
      key,
      subject,
      // Taken from the CA's own certificate, so that issuer and subject agree byte for byte.
      issuer: new ReadableCertificate(this.certificatePem).subjectName,
      signingKey: this.#signingKey,
      lifetimeMs,
      notAfterMax: this.notAfter,
      extensions: [
        new BasicConstraintsExtension(false, undefined, true),
        new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
        new ExtendedKeyUsageExtension([usage]),
        await AuthorityKeyIdentifierExtension.create(authorityKey, false, webcrypto),
        ...extensions,
      ],
    });
  }
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

const newKeys = (): Promise<webcrypto.CryptoKeyPair> =>
  subtle.generateKey(keyAlgorithm, true, ['sign', 'verify']);

async function sign(
  env: Env,
  ask: {
    readonly key: webcrypto.CryptoKey | PublicKey;
    readonly subject: JsonName;
    readonly issuer: JsonName | Name;
    readonly signingKey: webcrypto.CryptoKey;
    readonly lifetimeMs: number;
    readonly notAfterMax?: WallInstant;
    readonly extensions: Extension[];
  },
): Promise<string> {
  const now = env.clock.wall();
  const notAfterMs = Math.min(
    wallMs(plusMs(now, ask.lifetimeMs)),
    ask.notAfterMax === undefined ? Number.POSITIVE_INFINITY : wallMs(ask.notAfterMax),
  );
  // A serial number is a positive integer of at most 20 bytes: the first bit stays 0, the first byte is not.
  const serial = env.secret(16);
  serial.writeUInt8((serial.readUInt8(0) & 0x3f) | 0x40, 0);
  const certificate = await X509CertificateGenerator.create(
    {
      serialNumber: serial.toString('hex'),
      subject: ask.subject,
      issuer: ask.issuer,
      notBefore: new Date(wallMs(plusMs(now, -backdateMs))),
      notAfter: new Date(notAfterMs),
      signingAlgorithm,
      publicKey: ask.key,
      signingKey: ask.signingKey,
      extensions: ask.extensions,
    },
    webcrypto,
  );
  return `${certificate.toString('pem').trim()}\n`;
}

/** As PEM; what makes it is its only copy. */
export async function privateKeyPemOf({ privateKey }: webcrypto.CryptoKeyPair): Promise<string> {
  const base64 = Buffer.from(await subtle.exportKey('pkcs8', privateKey)).toString('base64');
  return `-----BEGIN PRIVATE KEY-----\n${base64.replace(/(.{64})(?=.)/g, '$1\n')}\n-----END PRIVATE KEY-----\n`;
}
