import { readKubeconfig } from '../client/kubeconfig.js';
import type { Env } from '../env/env.js';
import { msBetween } from '../env/instant.js';
import {
  type CertificateAuthority,
  type CertificatePair,
  checkPair,
  standsFor,
  validityOf,
} from '../serve/identity/authority-certificate.js';

/**
 * The administrator's certificate of the kubeconfig that the last start wrote, if it will do for this one: whole, made
 * by this CA, and with at least half of its life left. To make another one at every start takes longer than to read
 * 10,000 objects, and would not end the old one.
 */
export async function keptAdmin(
  kubeconfig: string,
  { authority, env }: { readonly authority: CertificateAuthority; readonly env: Env },
): Promise<CertificatePair | undefined> {
  try {
    const { cert, key } = await readKubeconfig({ path: kubeconfig });
    if (cert === undefined || key === undefined) return undefined;
    const pair = { certificatePem: cert, privateKeyPem: key };
    checkPair(pair);
    const { notBefore, notAfter } = validityOf(cert);
    const isFresh = msBetween(env.clock.wall(), notAfter) >= msBetween(notBefore, notAfter) / 2;
    const isOurs = authority.hasIssued(cert) && standsFor(cert, { kind: 'admin' });
    return isFresh && isOurs ? pair : undefined;
  } catch {
    // There is none yet, or somebody has made something else of it: it is written anew.
    return undefined;
  }
}
