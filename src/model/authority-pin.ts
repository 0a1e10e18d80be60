import { createHash, X509Certificate } from 'node:crypto';

/** What a CA is known by to somebody who has not seen it yet: SHA-256 of its certificate, base64url. */
export const pinOf = (certificatePem: string): string =>
  createHash('sha256').update(new X509Certificate(certificatePem).raw).digest('base64url');

/** A join token as it is handed over: the token itself, and the pin of the CA, if it has one. */
export function splitJoinToken(text: string): { readonly token: string; readonly pin: string | undefined } {
  const [token = '', pin] = text.trim().split('.');
  return { token, pin };
}
