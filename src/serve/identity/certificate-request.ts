// The decorators that @peculiar/x509 is built with need this first.
// oxlint-disable-next-line import/no-unassigned-import
import 'reflect-metadata';
import { createHash, createPublicKey, webcrypto } from 'node:crypto';
import { Pkcs10CertificateRequest, Pkcs10CertificateRequestGenerator, type PublicKey } from '@peculiar/x509';
import { BerthError } from '../../model/errors.js';
import { privateKeyPemOf } from './sign-certificate.js';

/** What somebody who made a key asks a certificate for. Whom it is for is not theirs to say. */
export interface CertificateRequest {
  readonly key: PublicKey;
  /** SHA-256 of the public key, hexadecimal. */
  readonly keyHash: string;
}

const { subtle } = webcrypto;
const keyAlgorithm = { name: 'ECDSA', namedCurve: 'P-256' };
const signingAlgorithm = { name: 'ECDSA', hash: 'SHA-256' };
const requestLengthMax = 4_096;

/** Makes a key and the request that proves it is ours. The key leaves the machine it was made on never. */
export async function newRequest(privateKeyPem?: string): Promise<{
  readonly privateKeyPem: string;
  readonly requestPem: string;
}> {
  const keys =
    privateKeyPem === undefined
      ? await subtle.generateKey(keyAlgorithm, true, ['sign', 'verify'])
      : await keysOf(privateKeyPem);
  const request = await Pkcs10CertificateRequestGenerator.create(
    { name: [], keys, signingAlgorithm },
    webcrypto,
  );
  return {
    privateKeyPem: await privateKeyPemOf(keys),
    requestPem: `${request.toString('pem').trim()}\n`,
  };
}

/** Reads a request (PKCS#10, PEM) and has it prove that its sender has the key. */
export async function readRequest(requestPem: string): Promise<CertificateRequest> {
  if (requestPem.length > requestLengthMax)
    throw unusable(`it is longer than ${requestLengthMax} characters`);
  let request: Pkcs10CertificateRequest;
  try {
    request = new Pkcs10CertificateRequest(requestPem);
    if (!(await request.verify(webcrypto))) throw new Error('its signature does not hold');
  } catch (cause) {
    throw unusable(cause instanceof Error ? cause.message : String(cause));
  }
  const der = Buffer.from(request.publicKey.rawData);
  const { namedCurve } =
    createPublicKey({ key: der, format: 'der', type: 'spki' }).asymmetricKeyDetails ?? {};
  if (namedCurve !== 'prime256v1') throw unusable('its key is not one of the curve P-256');
  return { key: request.publicKey, keyHash: createHash('sha256').update(der).digest('hex') };
}

async function keysOf(privateKeyPem: string): Promise<webcrypto.CryptoKeyPair> {
  const der = Buffer.from(privateKeyPem.replaceAll(/-----[A-Z ]+-----|\s/g, ''), 'base64');
  const privateKey = await subtle.importKey('pkcs8', der, keyAlgorithm, true, ['sign']);
  const { d: _, key_ops: __, ...open } = await subtle.exportKey('jwk', privateKey);
  return { privateKey, publicKey: await subtle.importKey('jwk', open, keyAlgorithm, true, ['verify']) };
}

const unusable = (why: string): BerthError =>
  new BerthError('BadRequest', `the certificate request cannot be used: ${why}`);
