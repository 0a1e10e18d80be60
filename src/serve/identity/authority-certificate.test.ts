import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { scratchDirectory } from '../../../testing/scratch.js';
import { msBetween, wallMs } from '../../env/instant.js';
import { realEnv } from '../../env/real.js';
import { VirtualTime } from '../../env/virtual.js';
import {
  CertificateAuthority,
  type CertificatePair,
  checkPair,
  coversHost,
  createAuthority,
  serverHosts,
  validityOf,
} from './authority-certificate.js';

const dayMs = 86_400_000;
const env = realEnv();
let ca: CertificatePair;
let authority: CertificateAuthority;

beforeAll(async () => {
  ca = await createAuthority(env);
  authority = CertificateAuthority.open(env, ca);
});

const lifetimeDays = (pair: CertificatePair): number => {
  const { notBefore, notAfter } = validityOf(pair.certificatePem);
  return Math.round(msBetween(notBefore, notAfter) / dayMs);
};

describe('a CA', () => {
  it('lives ten years on a P-256 key and may sign', () => {
    const certificate = new X509Certificate(ca.certificatePem);
    expect(certificate.ca).toBe(true);
    expect(certificate.publicKey.asymmetricKeyDetails).toEqual({ namedCurve: 'prime256v1' });
    expect(lifetimeDays(ca)).toBe(3650);
    expect(authority.hasIssued(ca.certificatePem)).toBe(true);
  });

  it('is not opened with a key of another, nor from a certificate that is no CA', async () => {
    const other = await createAuthority(env);
    expect(() => CertificateAuthority.open(env, { ...ca, privateKeyPem: other.privateKeyPem })).toThrow(
      'the private key does not belong to the certificate',
    );
    const server = await authority.issueServer([]);
    expect(() => CertificateAuthority.open(env, server)).toThrow('the certificate is not that of a CA');
  });

  it('is not opened once it has expired, and nothing it issues outlives it', async () => {
    const time = new VirtualTime({ seed: 1 });
    const { env: virtual } = time.machine('server');
    const old = await createAuthority(virtual);
    const pass = async (ms: number): Promise<void> => {
      // No timer lasts longer than a month.
      for (let leftMs = ms; leftMs > 0; leftMs -= 20 * dayMs) {
        virtual.after(Math.min(leftMs, 20 * dayMs), () => undefined);
        await time.run();
      }
    };
    await pass(3640 * dayMs);
    const late = CertificateAuthority.open(virtual, old);
    const issued = await late.issueServer([]);
    expect(wallMs(validityOf(issued.certificatePem).notAfter)).toBe(wallMs(late.notAfter));
    await pass(11 * dayMs);
    expect(() => CertificateAuthority.open(virtual, old)).toThrow('the CA expired');
  });
});

describe('a server certificate', () => {
  it('names the loopback hosts and the given ones, for 90 days', async () => {
    const pair = await authority.issueServer(['berth.example', '10.1.2.3', 'localhost']);
    checkPair(pair);
    expect(authority.hasIssued(pair.certificatePem)).toBe(true);
    for (const host of ['127.0.0.1', '::1', 'localhost', 'berth.example', '10.1.2.3']) {
      expect(coversHost(pair.certificatePem, host), host).toBe(true);
    }
    expect(coversHost(pair.certificatePem, 'other.example')).toBe(false);
    expect(coversHost(pair.certificatePem, '10.1.2.4')).toBe(false);
    expect(lifetimeDays(pair)).toBe(90);
    expect(new X509Certificate(pair.certificatePem).ca).toBe(false);
  });

  it.each(['', 'two words', 'a/b', '*.x', '-x', 'x_y', 'a,b', 'x'.repeat(64)])(
    'is refused for the host %j',
    async (host) => {
      await expect(authority.issueServer([host])).rejects.toMatchObject({ code: 'InvalidHost' });
    },
  );

  it('names a bounded number of hosts', () => {
    expect(() => serverHosts(Array.from({ length: 98 }, (_, index) => `h${index}`))).toThrow(
      'at most 100 hosts',
    );
  });
});

describe('a client certificate', () => {
  it('carries name and groups, for as long as asked', async () => {
    const editor = { kind: 'tenant', tenant: 'fraud', role: 'editor' } as const;
    const pair = await authority.issueClient(editor, 3 * dayMs, 'a-uid');
    checkPair(pair);
    const certificate = new X509Certificate(pair.certificatePem);
    expect(certificate.subject).toBe('O=berth:tenants\nO=berth:role:editor\nOU=a-uid\nCN=tenant:fraud');
    expect(lifetimeDays(pair)).toBe(3);
  });

  it('is refused for anonymous, for a name that does not fit, and without a lifetime', async () => {
    await expect(authority.issueClient({ kind: 'anonymous' }, 1000)).rejects.toThrow('anonymous');
    await expect(authority.issueClient({ kind: 'node', node: 'a'.repeat(63) }, 1000)).rejects.toThrow(
      'too long for a certificate (64 characters); use a token',
    );
    await expect(authority.issueClient({ kind: 'admin' }, 0)).rejects.toThrow('allowed is more than 0');
  });
});

describe('openssl', () => {
  it('accepts each certificate for its own purpose and refuses it for the other', async () => {
    const scratch = scratchDirectory('x509');
    try {
      const file = (name: string, text: string): string => {
        const path = join(scratch.path, name);
        writeFileSync(path, text);
        return path;
      };
      const caFile = file('ca.pem', ca.certificatePem);
      const server = file('server.pem', (await authority.issueServer([])).certificatePem);
      const client = file(
        'client.pem',
        (await authority.issueClient({ kind: 'admin' }, dayMs)).certificatePem,
      );
      const verify = (purpose: string, path: string): string =>
        execFileSync('openssl', ['verify', '-x509_strict', '-CAfile', caFile, '-purpose', purpose, path], {
          stdio: 'pipe',
        }).toString();
      expect(verify('sslserver', server)).toContain('OK');
      expect(verify('sslclient', client)).toContain('OK');
      expect(() => verify('sslclient', server)).toThrow('purpose');
      expect(() => verify('sslserver', client)).toThrow('purpose');
    } finally {
      scratch.remove();
    }
  });
});
