import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { scratchDirectory } from '../../testing/scratch.js';
import { realEnv } from '../env/real.js';
import {
  CertificateAuthority,
  type CertificatePair,
  createAuthority,
} from '../serve/identity/authority-certificate.js';
import { keptAdmin } from './kept-admin.js';
import { writeKubeconfig } from './kubeconfig.js';

const yearMs = 365 * 86_400_000;

describe('the administrator’s certificate of the last start', () => {
  const env = realEnv();
  const scratch = scratchDirectory('kept-admin');
  const path = join(scratch.path, 'kubeconfig');
  afterAll(() => scratch.remove());
  const newAuthority = async () => CertificateAuthority.open(env, await createAuthority(env));
  const write = (pair: CertificatePair) =>
    writeKubeconfig(path, {
      server: 'https://127.0.0.1:1',
      ca: 'any',
      certificate: pair.certificatePem,
      key: pair.privateKeyPem,
    });

  it('is kept while half of its life is left', async () => {
    const authority = await newAuthority();
    const admin = await authority.issueClient({ kind: 'admin' }, yearMs);
    write(admin);
    expect(await keptAdmin(path, { authority, env })).toEqual(admin);
    // Certificates are good from five minutes before they are made: of this one less than half is left.
    write(await authority.issueClient({ kind: 'admin' }, 60_000));
    expect(await keptAdmin(path, { authority, env })).toBeUndefined();
  });

  it('is not kept if it is of another CA, of somebody else, or not whole', async () => {
    const [authority, other] = [await newAuthority(), await newAuthority()];
    const admin = await authority.issueClient({ kind: 'admin' }, yearMs);
    const another = await authority.issueClient({ kind: 'admin' }, yearMs);
    for (const pair of [
      await other.issueClient({ kind: 'admin' }, yearMs),
      await authority.issueClient({ kind: 'viewer' }, yearMs),
      { ...admin, privateKeyPem: another.privateKeyPem },
    ]) {
      write(pair);
      expect(await keptAdmin(path, { authority, env })).toBeUndefined();
    }
  });

  it('is not there in a file that is none of ours, or none at all', async () => {
    const authority = await newAuthority();
    writeFileSync(path, 'somebody: else');
    expect(await keptAdmin(path, { authority, env })).toBeUndefined();
    expect(await keptAdmin(join(scratch.path, 'nothing'), { authority, env })).toBeUndefined();
  });
});
