// The decorators that @peculiar/x509 is built with need this first.
// oxlint-disable-next-line import/no-unassigned-import
import 'reflect-metadata';
import { type KeyObject, webcrypto, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type Extension,
  type JsonGeneralName,
  type JsonName,
  KeyUsageFlags,
  KeyUsagesExtension,
  PublicKey,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate as ReadableCertificate,
  X509CertificateGenerator,
} from '@peculiar/x509';
import type { Env } from '../../env/env.js';
import { plusMs, type WallInstant, wallMs } from '../../env/instant.js';

/** A certificate and its private key, as PEM text. */
export interface CertificatePair {
  readonly certificatePem: string;
  readonly privateKeyPem: string;
}

/** What a certificate is for, and what it says besides its subject. */
export type CertificateUse =
  | { readonly kind: 'authority' }
  | { readonly kind: 'server'; readonly hosts: readonly string[] }
  | { readonly kind: 'client' };

export interface CertificateContents {
  readonly subject: JsonName;
  readonly use: CertificateUse;
  readonly lifetimeMs: number;
  /** Who signs it; undefined: it signs itself. */
  readonly issuer?: CertificateIssuer;
}

export interface CertificateIssuer {
  readonly certificatePem: string;
  readonly privateKey: KeyObject;
  readonly notAfter: WallInstant;
}

// Certificates are good from a little before they are made, for clients whose clock is behind.
const backdateMs = 5 * 60_000;

const keyAlgorithm = { name: 'ECDSA', namedCurve: 'P-256' };
const signingAlgorithm = { name: 'ECDSA', hash: 'SHA-256' };
const { subtle } = webcrypto;

/**
 * Makes a key and a certificate for it. In a file of its own, to be loaded when one is made: the package that writes
 * certificates takes longer to load than a server does to read 10,000 objects, and most starts make none.
 */
export async function signCertificate(env: Env, contents: CertificateContents): Promise<CertificatePair> {
  const keys = await subtle.generateKey(keyAlgorithm, true, ['sign', 'verify']);
  const issuerKey =
    contents.issuer === undefined ? keys.privateKey : await signingKeyOf(contents.issuer.privateKey);
  const certificatePem = await certify(env, contents, keys.publicKey, issuerKey);
  return { certificatePem, privateKeyPem: await privateKeyPemOf(keys) };
}

/** The same for one who has made the key: only its public half has come here. */
export async function signForKey(
  env: Env,
  contents: CertificateContents & { readonly issuer: CertificateIssuer },
  key: PublicKey,
): Promise<string> {
  return certify(env, contents, key, await signingKeyOf(contents.issuer.privateKey));
}

async function certify(
  env: Env,
  contents: CertificateContents,
  key: webcrypto.CryptoKey | PublicKey,
  signingKey: webcrypto.CryptoKey,
): Promise<string> {
  const { issuer } = contents;
  const now = env.clock.wall();
  const notAfterMs = Math.min(
    wallMs(plusMs(now, contents.lifetimeMs)),
    issuer === undefined ? Number.POSITIVE_INFINITY : wallMs(issuer.notAfter),
  );
  // A serial number is a positive integer of at most 20 bytes: the first bit stays 0, the first byte is not.
  const serial = env.secret(16);
  serial.writeUInt8((serial.readUInt8(0) & 0x3f) | 0x40, 0);
  const identifier =
    issuer === undefined
      ? await SubjectKeyIdentifierExtension.create(key, false, webcrypto)
      : await AuthorityKeyIdentifierExtension.create(publicKeyOf(issuer.certificatePem), false, webcrypto);
  const certificate = await X509CertificateGenerator.create(
    {
      serialNumber: serial.toString('hex'),
      subject: contents.subject,
      // Taken from the CA's own certificate, so that issuer and subject agree byte for byte.
      issuer:
        issuer === undefined ? contents.subject : new ReadableCertificate(issuer.certificatePem).subjectName,
      notBefore: new Date(wallMs(plusMs(now, -backdateMs))),
      notAfter: new Date(notAfterMs),
      signingAlgorithm,
      publicKey: key,
      signingKey,
      extensions: [...usageOf(contents.use), identifier],
    },
    webcrypto,
  );
  return `${certificate.toString('pem').trim()}\n`;
}

function usageOf(use: CertificateUse): Extension[] {
  if (use.kind === 'authority') {
    return [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
    ];
  }
  const shared = [
    new BasicConstraintsExtension(false, undefined, true),
    new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
  ];
  if (use.kind === 'client') return [...shared, new ExtendedKeyUsageExtension([ExtendedKeyUsage.clientAuth])];
  const names = use.hosts.map((host): JsonGeneralName => ({ type: isIP(host) ? 'ip' : 'dns', value: host }));
  return [
    ...shared,
    new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
    new SubjectAlternativeNameExtension(names),
  ];
}

const publicKeyOf = (certificatePem: string): PublicKey =>
  new PublicKey(new X509Certificate(certificatePem).publicKey.export({ format: 'der', type: 'spki' }));

const signingKeyOf = (key: KeyObject): Promise<webcrypto.CryptoKey> =>
  subtle.importKey('pkcs8', key.export({ format: 'der', type: 'pkcs8' }), keyAlgorithm, false, ['sign']);

/** As PEM; what makes it is its only copy. */
export async function privateKeyPemOf({ privateKey }: webcrypto.CryptoKeyPair): Promise<string> {
  const base64 = Buffer.from(await subtle.exportKey('pkcs8', privateKey)).toString('base64');
  return `-----BEGIN PRIVATE KEY-----\n${base64.replace(/(.{64})(?=.)/g, '$1\n')}\n-----END PRIVATE KEY-----\n`;
}
