import type { Env } from '../env/env.js';
import { BerthError } from '../model/errors.js';
import { type CertificatePair, createAuthority } from '../serve/identity/authority-certificate.js';
import type { Store } from '../store/contract.js';
import { singleKey } from '../store/key-range.js';

const authorityKey = '/m/ca';
const attemptsMax = 10;

/**
 * The CA that all servers of a cell share, kept in their store: whoever can read or write that store rules the cell
 * anyway. The first server makes it; servers that start at once agree on one.
 */
export async function sharedAuthority(store: Store, env: Env): Promise<CertificatePair> {
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const [entry] = (await store.read(singleKey(authorityKey))).entries;
    if (entry !== undefined) return JSON.parse(Buffer.from(entry.value).toString()) as CertificatePair;
    const pair = await createAuthority(env);
    await store.transact({
      guards: [{ kind: 'absent', key: authorityKey }],
      writes: [{ kind: 'put', key: authorityKey, value: Buffer.from(JSON.stringify(pair)) }],
    });
  }
  throw new BerthError('StoreUnavailable', "the cell's CA could be neither read nor written");
}
