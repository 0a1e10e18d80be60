import type { AddressInfo } from 'node:net';
import { connect, createServer, type TLSSocket } from 'node:tls';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { plusMs } from '../../env/instant.js';
import { realEnv } from '../../env/real.js';
import { authenticate, type ClientCertificate, clientCertificateOf } from './authenticate.js';
import { CertificateAuthority, type CertificatePair, createAuthority } from './authority-certificate.js';
import type { Identity } from './identity.js';
import { MemoryTokenRecords, Tokens } from './tokens.js';

const env = realEnv();
const tenantUid = (): Promise<string> => Promise.resolve('uid');
const tokens = new Tokens({ env, records: new MemoryTokenRecords(), tenantUid });
const editor: Identity = { kind: 'tenant', tenant: 'fraud', role: 'editor' };
const hourMs = 3_600_000;
const viewerCertificate: ClientCertificate = {
  commonNames: ['viewer'],
  groups: ['berth:viewers'],
  tenantUids: [],
  keyHash: 'a key',
  notAfter: plusMs(env.clock.wall(), hourMs),
};
const nodeKeyHash = (node: string): Promise<string | undefined> =>
  Promise.resolve(node === 'joined' ? 'the key it joined with' : undefined);

const ask = (headers: Record<string, string | string[]>, certificate?: ClientCertificate) =>
  authenticate({ env, tokens, tenantUid, nodeKeyHash }, { headers, certificate });
const refused = (reason: string, httpStatus = 401) => ({
  kind: 'refused',
  httpStatus,
  reason: expect.stringContaining(reason) as string,
});

let token: string;
beforeAll(async () => {
  ({ token } = await tokens.create({ opens: editor, ttlMs: hourMs, description: '', createdBy: editor }));
});

describe('a request', () => {
  it('without credentials is anonymous', async () => {
    expect(await ask({})).toEqual({ kind: 'identity', identity: { kind: 'anonymous' }, by: 'nothing' });
  });

  it('with a token is who the token stands for, whatever certificate comes with it', async () => {
    const expected = { kind: 'identity', identity: editor, by: 'token' };
    expect(await ask({ authorization: `Bearer ${token}` })).toEqual(expected);
    expect(await ask({ authorization: `bearer   ${token} ` })).toEqual(expected);
    expect(await ask({ authorization: `Bearer ${token}` }, viewerCertificate)).toEqual(expected);
  });

  it('with a certificate is whom its subject names', async () => {
    expect(await ask({}, viewerCertificate)).toEqual({
      kind: 'identity',
      identity: { kind: 'viewer' },
      by: 'certificate',
    });
  });

  it('of a node is refused by a certificate of before it joined again', async () => {
    const of = (node: string, keyHash: string): ClientCertificate => ({
      ...viewerCertificate,
      ...{ commonNames: [`node:${node}`], groups: ['berth:nodes'], keyHash },
    });
    const known = (node: string) => ({
      kind: 'identity',
      identity: { kind: 'node', node },
      by: 'certificate',
    });
    expect(await ask({}, of('joined', 'the key it joined with'))).toEqual(known('joined'));
    expect(await ask({}, of('joined', 'another'))).toEqual(refused('has joined again, with another key'));
    // Whoever has the CA may set up nodes without a token.
    expect(await ask({}, of('given', 'any'))).toEqual(known('given'));
  });

  it('with a token that does not hold is refused, not treated by its certificate or as anonymous', async () => {
    expect(await ask({ authorization: `Bearer ${token}x` }, viewerCertificate)).toEqual(
      refused('berth_ID_SECRET'),
    );
  });

  it.each([
    ['', 'is empty'],
    ['   ', 'is empty'],
    ['Bearer', 'has no token after Bearer'],
    ['Bearer ', 'has no token after Bearer'],
    ['Bearer a b', 'contains white space'],
    ['Basic YWRtaW46', 'does not start with Bearer'],
    ['berth_0123456789abcdef_hush', 'does not start with Bearer'],
    ['Bearer x', 'does not have the form berth_ID_SECRET'],
  ])('with the header %j is refused with a clear reason', async (authorization, reason) => {
    const answer = await ask({ authorization });
    expect(answer).toEqual(refused(reason));
    expect(JSON.stringify(answer)).not.toContain('hush');
  });

  it('with an endless header is refused', async () => {
    expect(await ask({ authorization: `Bearer ${'x'.repeat(5000)}` })).toEqual(refused('longer than 4096'));
  });

  it('with two headers is refused', async () => {
    expect(await ask({ authorization: ['Bearer a', 'Bearer b'] })).toEqual(refused('more than one'));
  });

  it.each<[string, Partial<ClientCertificate>]>([
    ['is not trusted: SELF_SIGNED', { distrust: 'SELF_SIGNED' }],
    ['expired at', { notAfter: env.clock.wall() }],
    ['exactly one common name', { commonNames: [] }],
    ['exactly one common name', { commonNames: ['viewer', 'admin'] }],
    ['names no identity', { groups: ['berth:operators'] }],
    ['names no identity', { commonNames: ['root'] }],
  ])('with a certificate that %s is refused', async (reason, changes) => {
    expect(await ask({}, { ...viewerCertificate, ...changes })).toEqual(refused(reason));
  });

  it('that asks to act as somebody else is refused, also of admin', async () => {
    const admin = { ...viewerCertificate, commonNames: ['admin'], groups: ['berth:operators'] };
    expect(await ask({ 'Impersonate-User': 'viewer' }, admin)).toEqual(
      refused('impersonation is not supported; leave out the header Impersonate-User', 403),
    );
  });

  it('with any header at all gets an answer', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary' }), async (authorization) => {
        expect((await ask({ authorization })).kind).toBe('refused');
      }),
    );
  });
});

describe('over a real TLS connection', () => {
  /** What the server makes of a client's first connection, and of a second one that resumes its session. */
  async function presented(client: CertificatePair | undefined, authority: CertificateAuthority) {
    const server = await authority.issueServer([]);
    const listener = createServer({
      key: server.privateKeyPem,
      cert: server.certificatePem,
      ca: authority.certificatePem,
      requestCert: true,
      rejectUnauthorized: false,
    });
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
    const { port } = listener.address() as AddressInfo;
    const credentials =
      client === undefined ? {} : { key: client.privateKeyPem, cert: client.certificatePem };
    const visit = async (session: Buffer | undefined) => {
      const accepted = new Promise<TLSSocket>((resolve) => listener.once('secureConnection', resolve));
      const socket = connect({
        port,
        host: '127.0.0.1',
        ca: authority.certificatePem,
        ...credentials,
        ...(session === undefined ? {} : { session }),
      });
      const ticket = new Promise<Buffer>((resolve) => socket.once('session', resolve));
      const greeted = new Promise((resolve) => socket.once('data', resolve));
      const peer = await accepted;
      peer.write('hello');
      await greeted;
      const certificate = clientCertificateOf(peer);
      const answer = await authenticate(
        { env, tokens, tenantUid, nodeKeyHash },
        { headers: {}, certificate },
      );
      // A resumed connection is given no further ticket.
      const next = session ?? (await ticket);
      const isResumed = socket.isSessionReused();
      socket.destroy();
      return { answer, next, isResumed, keyHash: certificate?.keyHash };
    };
    try {
      const first = await visit(undefined);
      const second = await visit(first.next);
      expect([first.isResumed, second.isResumed]).toEqual([false, true]);
      expect(second.answer).toEqual(first.answer);
      expect(second.keyHash).toBe(first.keyHash);
      return first.answer;
    } finally {
      await new Promise((resolve) => listener.close(resolve));
    }
  }

  const newAuthority = async () => CertificateAuthority.open(env, await createAuthority(env));

  it.each<Identity>([editor, { kind: 'admin' }, { kind: 'node', node: 'gpu-7' }])(
    'a certificate of the CA is its identity: %o',
    async (identity) => {
      const authority = await newAuthority();
      const uid = identity.kind === 'tenant' ? await tenantUid() : undefined;
      expect(await presented(await authority.issueClient(identity, hourMs, uid), authority)).toEqual({
        kind: 'identity',
        identity,
        by: 'certificate',
      });
    },
  );

  it('a certificate of a tenant opens no other tenant of the same name', async () => {
    const authority = await newAuthority();
    const earlier = await authority.issueClient(editor, hourMs, 'the uid of an earlier one');
    expect(await presented(earlier, authority)).toEqual(refused('was made for is gone'));
    await expect(authority.issueClient(editor, hourMs)).rejects.toThrow('a uid is named by the certificates');
  });

  it('no certificate is anonymous, one of another CA or for another purpose is refused', async () => {
    const authority = await newAuthority();
    const stranger = await newAuthority();
    expect(await presented(undefined, authority)).toMatchObject({ identity: { kind: 'anonymous' } });
    expect(await presented(await stranger.issueClient({ kind: 'admin' }, hourMs), authority)).toEqual(
      refused('is not trusted'),
    );
    expect(await presented(await authority.issueServer([]), authority)).toEqual(refused('is not trusted'));
  });
});
