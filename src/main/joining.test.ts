import { X509Certificate } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BerthClient } from '../client/client.js';
import { realEnv } from '../env/real.js';
import { pinOf, splitJoinToken } from '../model/authority-pin.js';
import { authorityPath, joinPath, type NodeCredentials, renewPath } from '../model/node-wire.js';
import { applyChanges, CellRecords } from '../objects/cell-records.js';
import { CertificateAuthority, createAuthority } from '../serve/identity/authority-certificate.js';
import { newRequest, readRequest } from '../serve/identity/certificate-request.js';
import type { JoinGrant } from '../serve/identity/join-grant.js';
import { type JoinedNode, Joins } from '../serve/identity/joins.js';
import { type TokenRecord, Tokens } from '../serve/identity/tokens.js';
import { MemoryStore } from '../store/memory.js';
import { startServer, type TestServer } from './running.fixture.js';
import type { Answer } from './test-client.fixture.js';

const env = realEnv();
const hourMs = 3_600_000;
const newKey = async () => readRequest((await newRequest()).requestPem);

async function openJoins() {
  const store = new MemoryStore(env);
  const records = new CellRecords<TokenRecord>(store, 'tokens');
  const tokens = new Tokens({ env, records, tenantUid: () => Promise.resolve(undefined) });
  const authority = CertificateAuthority.open(env, await createAuthority(env));
  const nodes = new Set<string>();
  /** One of the servers of the cell. */
  const server = (): Joins =>
    new Joins({
      tokens: new CellRecords<TokenRecord>(store, 'tokens'),
      joined: new CellRecords<JoinedNode>(store, 'joined'),
      apply: (changes) => applyChanges(store, changes),
      hasNode: (name) => Promise.resolve(nodes.has(name)),
      ...{ authority, machine: 'this machine', env },
    });
  const grant = async (more: Partial<JoinGrant> = {}, ttlMs = hourMs): Promise<string> => {
    const opens = { region: 'eu', zone: 'a', ...more };
    const { info } = await tokens.create({ opens, ttlMs, description: '', createdBy: { kind: 'admin' } });
    return info.id;
  };
  return { server, grant, nodes, authority, tokens };
}

describe('joining', () => {
  it('makes a certificate for the node, good for a client of this cell and for its key', async () => {
    const { server, grant, authority } = await openJoins();
    const { requestPem, privateKeyPem } = await newRequest();
    const made = await server().join(await grant(), 'n1', await readRequest(requestPem));
    expect(made).toMatchObject({ node: 'n1', region: 'eu', zone: 'a', authority: authority.certificatePem });
    const certificate = new X509Certificate(made.certificate);
    expect(certificate.subject).toContain('CN=node:n1');
    expect(authority.hasIssued(made.certificate)).toBe(true);
    const again = await newRequest(privateKeyPem);
    expect((await readRequest(again.requestPem)).keyHash).toBe((await readRequest(requestPem)).keyHash);
    expect(await server().placeOf('n1')).toMatchObject({ region: 'eu', zone: 'a' });
  });

  it('takes a token once, also when machines show it to several servers at once', async () => {
    const { server, grant, tokens } = await openJoins();
    const token = await grant();
    const servers = [server(), server(), server()];
    const outcomes = await Promise.allSettled(
      servers.map(async (each, index) => each.join(token, `n${index}`, await newKey())),
    );
    const joined = outcomes.filter(({ status }) => status === 'fulfilled');
    expect(joined).toHaveLength(1);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected')
        expect(String(outcome.reason)).toMatch(/the token has been used, by node n\d/);
    expect((await tokens.find(token))?.usedBy?.node).toMatch(/^n\d$/);
  });

  it('gives the same machine the same again, and nothing to another key or name', async () => {
    const { server, grant } = await openJoins();
    const token = await grant();
    const key = await newKey();
    const first = await server().join(token, 'n1', key);
    const second = await server().join(token, 'n1', key);
    expect(second.node).toBe(first.node);
    await expect(server().join(token, 'n1', await newKey())).rejects.toThrow('has been used, by node n1');
    await expect(server().join(token, 'n2', key)).rejects.toThrow('has been used, by node n1');
  });

  it.each<[Partial<JoinGrant>, string, string | undefined]>([
    [{}, 'anything', undefined],
    [{ node: 'gpu-7' }, 'gpu-7', undefined],
    [{ node: 'gpu-7' }, 'gpu-8', 'the token is for the node gpu-7, not for gpu-8'],
    [{ prefix: 'gpu-' }, 'gpu-8', undefined],
    [{ prefix: 'gpu-' }, 'cpu-8', 'begin with gpu-, not for cpu-8'],
    [{}, 'Not a name', 'is not the name of a node'],
    [{}, 'n'.repeat(60), 'is not the name of a node'],
    [{}, 'longer than any key of the store: '.repeat(100), 'is not the name of a node'],
  ])('by a token for %j as %s: %s', async (more, name, problem) => {
    const { server, grant } = await openJoins();
    const joining = server().join(await grant(more), name, await newKey());
    if (problem === undefined) expect((await joining).node).toBe(name);
    else await expect(joining).rejects.toThrow(problem);
  });

  it.each([
    [
      { region: 'us' },
      'the token is for region eu and zone a, and this machine is started for region us and zone a',
    ],
    [{ zone: 'b' }, 'started for region eu and zone b: change --region and --zone, or make another token'],
    [{ loopbackOf: 'another machine' }, 'give the address of the node with berth agent --address'],
  ])('is refused with %j, and leaves the token as it was', async (expected, problem) => {
    const { server, grant, tokens } = await openJoins();
    const token = await grant();
    const key = await newKey();
    await expect(server().join(token, 'n1', key, expected)).rejects.toThrow(problem);
    expect(await tokens.find(token)).not.toHaveProperty('usedBy');
    const right = { region: 'eu', zone: 'a', loopbackOf: 'this machine' };
    expect(await server().join(token, 'n1', key, right)).toMatchObject({ region: 'eu', zone: 'a' });
  });

  it('takes the place of a node that is there only by a token that names it', async () => {
    const { server, grant, nodes } = await openJoins();
    await server().join(await grant(), 'n1', await newKey());
    nodes.add('old');
    await expect(server().join(await grant(), 'n1', await newKey())).rejects.toThrow('there is a node n1');
    await expect(server().join(await grant({ prefix: 'o' }), 'old', await newKey())).rejects.toThrow(
      'there is a node old',
    );
    await server().join(await grant({ node: 'n1', zone: 'b' }), 'n1', await newKey());
    expect(await server().placeOf('n1')).toMatchObject({ zone: 'b' });
  });

  it('renews for the key that joined, and not for one whose place was taken', async () => {
    const { server, grant } = await openJoins();
    const [key, other] = [await newKey(), await newKey()];
    await server().join(await grant(), 'n1', key);
    expect((await server().renew('n1', key)).certificate).toContain('BEGIN CERTIFICATE');
    await expect(server().renew('n1', other)).rejects.toThrow('has joined with another key');
    await expect(server().renew('n2', key)).rejects.toThrow('has not joined by a token');
    await server().join(await grant({ node: 'n1' }), 'n1', other);
    await expect(server().renew('n1', key)).rejects.toThrow('has joined with another key');
  });

  it.each<[JoinGrant, number, string]>([
    [{ node: 'a', prefix: 'b', region: 'eu', zone: 'a' }, hourMs, 'not both'],
    [{ node: 'A', region: 'eu', zone: 'a' }, hourMs, '"A" is not the name of a node'],
    [{ prefix: '-', region: 'eu', zone: 'a' }, hourMs, 'is not how the name of a node begins'],
    [{ region: 'E U', zone: 'a' }, hourMs, '"E U" is not the name of a region'],
    [{ region: 'eu', zone: '' }, hourMs, '"" is not the name of a zone'],
    [{ region: 'eu', zone: 'a' }, 8 * 24 * hourMs, 'at most 168h'],
  ])('has no token %j that lives %i ms: %s', async (opens, ttlMs, problem) => {
    const { grant } = await openJoins();
    await expect(grant({ ...opens }, ttlMs)).rejects.toThrow(problem);
  });
});

describe('joining over HTTPS', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(() => server.dispose());
  const json = { 'content-type': 'application/json' };
  const tokens = '/apis/authentication.berth.dev/v1/tokens';
  const newToken = async (join: object): Promise<string> => {
    const body = JSON.stringify({ spec: { join, ttl: '1h' } });
    const { status, text } = await server.send('POST', tokens, { headers: json, body });
    expect([status, text]).toEqual([201, expect.stringContaining('"join"')]);
    return (JSON.parse(text) as { status: { token: string } }).status.token;
  };
  const join = (token: string, body: object, path = joinPath): Promise<Answer> =>
    server.sendAnonymously('POST', path, { ...json, authorization: `Bearer ${token}` }, JSON.stringify(body));

  const clientOf = ({ authority, certificate }: NodeCredentials, key: string): BerthClient =>
    new BerthClient({
      access: {
        ...{ url: server.url, ca: authority, cert: certificate, key },
        ...{ token: undefined, namespace: 'default' },
      },
    });

  it('tells everybody the CA, and in a join token what it is known by', async () => {
    const { status, text } = await server.sendAnonymously('GET', authorityPath);
    expect(status).toBe(200);
    const { authority } = JSON.parse(text) as { authority: string };
    expect(splitJoinToken(await newToken({})).pin).toBe(pinOf(authority));
  });

  it('[S6] opens joining and nothing else, once, and the certificate opens its renewal', async () => {
    const { token } = splitJoinToken(await newToken({ prefix: 'n', region: 'eu', zone: 'b' }));
    const { requestPem, privateKeyPem } = await newRequest();
    const workloads = '/apis/berth.dev/v1/workloads';
    const read = await server.sendAnonymously('GET', workloads, { authorization: `Bearer ${token}` });
    expect(read.status).toBe(403);
    expect((await join(token, { node: 'n1', request: requestPem }, renewPath)).status).toBe(403);
    expect((await join(token, { node: 'n1', request: 'x' })).status).toBe(400);
    expect((await join(token, { request: requestPem })).text).toContain('node: required');
    const elsewhere = { node: 'n1', request: requestPem, zone: 'a' };
    expect((await join(token, elsewhere)).text).toContain('the token is for region eu and zone b');
    const tunnelled = { node: 'n1', request: requestPem, loopbackOf: 'another machine' };
    expect((await join(token, tunnelled)).text).toContain('loopback address of another machine');
    expect((await join(token, { node: 'n1', request: requestPem, zone: 3 })).status).toBe(400);
    const joined = await join(token, { node: 'n1', request: requestPem });
    expect(joined.status).toBe(201);
    const made = JSON.parse(joined.text) as NodeCredentials;
    expect(made).toMatchObject({ node: 'n1', region: 'eu', zone: 'b' });
    expect((await join(token, { node: 'n1', request: (await newRequest()).requestPem })).status).toBe(403);
    const list = await server.send('GET', tokens);
    expect(list.text).toContain('"usedBy":"n1"');
    const again = await newRequest(privateKeyPem);
    const client = clientOf(made, privateKeyPem);
    expect(await client.ask(renewPath, { request: again.requestPem })).toMatchObject({ node: 'n1' });
    client.close();
    expect(server.defects).toEqual([]);
  });

  it('again under the same name ends what the certificate of before was good for, on open connections too', async () => {
    const joinAs = async (): Promise<{ client: BerthClient; renewal: object }> => {
      const { token } = splitJoinToken(await newToken({ node: 'twice' }));
      const { requestPem, privateKeyPem } = await newRequest();
      const { text } = await join(token, { node: 'twice', request: requestPem });
      const client = clientOf(JSON.parse(text) as NodeCredentials, privateKeyPem);
      return { client, renewal: { request: (await newRequest(privateKeyPem)).requestPem } };
    };
    const before = await joinAs();
    expect(await before.client.ask(renewPath, before.renewal)).toMatchObject({ node: 'twice' });
    const after = await joinAs();
    await expect(before.client.ask(renewPath, before.renewal)).rejects.toThrow(
      'node twice has joined again, with another key than that of this client certificate',
    );
    expect(await after.client.ask(renewPath, after.renewal)).toMatchObject({ node: 'twice' });
    before.client.close();
    after.client.close();
  });

  it('is not for admin', async () => {
    const body = JSON.stringify({ node: 'x', request: (await newRequest()).requestPem });
    expect((await server.send('POST', joinPath, { headers: json, body })).status).toBe(403);
    expect((await server.sendAnonymously('POST', joinPath, json, body)).status).toBe(401);
    expect((await server.send('GET', joinPath)).status).toBe(405);
    expect((await server.send('GET', '/apis/nodes.berth.dev/v1/other')).status).toBe(404);
  });
});
