import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { scratchDirectory } from '../../testing/scratch.js';
import { startServerIn, type TestServer } from './running.fixture.js';
import { type Answer, testClient } from './test-client.fixture.js';

const path = '/apis/authentication.berth.dev/v1/tokens';
const workloads = (tenant: string): string => `/apis/berth.dev/v1/namespaces/${tenant}/workloads`;
const json = { 'content-type': 'application/json' };

interface Token {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: { readonly identity: string };
  readonly status: { readonly token: string; readonly expiresAt: string; readonly createdBy: string };
}
interface Status {
  readonly kind: string;
  readonly reason: string;
  readonly message: string;
}

describe('tokens over HTTPS', () => {
  const scratch = scratchDirectory('tokens');
  let server: TestServer;
  beforeAll(async () => {
    server = await startServerIn(scratch.path);
    for (const name of ['fraud', 'shop']) await createTenant(name);
  });
  afterAll(async () => {
    await server.dispose();
    scratch.remove();
  });
  const createTenant = async (name: string): Promise<void> => {
    const body = JSON.stringify({ metadata: { name }, spec: {} });
    const { status } = await server.send('POST', '/apis/berth.dev/v1/tenants', { headers: json, body });
    expect(status).toBe(201);
  };
  const ask = (spec: object): Promise<Answer> =>
    server.send('POST', path, { headers: json, body: JSON.stringify({ spec }) });
  const create = async (identity: string, ttl = '1h'): Promise<Token> => {
    const answer = await ask({ identity, ttl, description: `for ${identity}` });
    expect(answer.status).toBe(201);
    return JSON.parse(answer.text) as Token;
  };
  const as = (token: Token, method: string, at: string, body?: object): Promise<Answer> =>
    server.sendAnonymously(
      method,
      at,
      { ...json, authorization: `Bearer ${token.status.token}` },
      body === undefined ? undefined : JSON.stringify(body),
    );
  const itemsOf = ({ text }: Answer): Token[] => (JSON.parse(text) as { items: Token[] }).items;

  it('tell their secret once, open what their identity may, and end at once when they are revoked', async () => {
    const token = await create('tenant:fraud:viewer');
    expect(token).toMatchObject({
      kind: 'Token',
      spec: { identity: 'tenant:fraud:viewer', description: 'for tenant:fraud:viewer' },
      status: { createdBy: 'admin' },
    });
    expect((await as(token, 'GET', workloads('fraud'))).status).toBe(200);
    expect((await as(token, 'GET', workloads('shop'))).status).toBe(403);
    const one = await server.send('GET', `${path}/${token.metadata.name}`);
    expect(JSON.parse(one.text)).toMatchObject({ metadata: token.metadata });
    const list = await server.send('GET', path);
    expect(itemsOf(list).map(({ metadata }) => metadata.name)).toContain(token.metadata.name);
    for (const { text } of [one, list]) expect(text).not.toContain(token.status.token.slice(-43));

    expect((await server.send('DELETE', `${path}/${token.metadata.name}`)).status).toBe(200);
    const refused = await as(token, 'GET', workloads('fraud'));
    expect(refused.status).toBe(401);
    expect(JSON.parse(refused.text)).toMatchObject({ kind: 'Status', reason: 'Unauthorized' });
    expect((await server.send('DELETE', `${path}/${token.metadata.name}`)).status).toBe(404);
  });

  it('end when their time is over', async () => {
    const token = await create('viewer', '700ms');
    expect((await as(token, 'GET', workloads('fraud'))).status).toBe(200);
    await sleep(Math.max(0, Date.parse(token.status.expiresAt) - Date.now()) + 1);
    const refused = await as(token, 'GET', workloads('fraud'));
    expect(refused.status).toBe(401);
    expect((JSON.parse(refused.text) as Status).message).toContain('expired at');
    expect((await server.send('GET', `${path}/${token.metadata.name}`)).status).toBe(404);
  });

  it("are managed by admin, and a tenant's by its owner, to whom others' are not there", async () => {
    const owner = await create('tenant:fraud:owner');
    const editor = await create('tenant:fraud:editor');
    const other = await create('tenant:shop:viewer');
    const made = await as(owner, 'POST', path, { spec: { identity: 'tenant:fraud:viewer' } });
    expect(made.status).toBe(201);
    expect(JSON.parse(made.text)).toMatchObject({ status: { createdBy: 'tenant:fraud:owner' } });
    expect((await as(owner, 'POST', path, { spec: { identity: 'admin' } })).status).toBe(403);
    expect((await as(owner, 'POST', path, { spec: { identity: 'tenant:shop:viewer' } })).status).toBe(403);
    const seen = itemsOf(await as(owner, 'GET', path)).map(({ spec }) => spec.identity);
    expect(seen).toHaveLength(3);
    for (const identity of seen) expect(identity).toMatch(/^tenant:fraud:/);
    expect((await as(owner, 'DELETE', `${path}/${other.metadata.name}`)).status).toBe(404);
    expect((await as(owner, 'DELETE', `${path}/${editor.metadata.name}`)).status).toBe(200);
    expect((await as(editor, 'GET', path)).status).toBe(401);
    expect((await as(other, 'GET', path)).status).toBe(403);
    expect((await as(other, 'GET', `${path}/${owner.metadata.name}`)).status).toBe(403);
    expect((await as(other, 'POST', path, { spec: { identity: 'tenant:shop:viewer' } })).status).toBe(403);
    expect((await server.sendAnonymously('GET', path)).status).toBe(401);
  });

  it.each([
    { spec: undefined, status: 422, says: 'spec: required' },
    { spec: {}, status: 422, says: 'spec.identity: required' },
    { spec: { identity: 'root' }, status: 422, says: 'spec.identity: "root" is not an identity' },
    { spec: { identity: 'viewer', ttl: 'long' }, status: 422, says: 'spec.ttl: "long" is not a duration' },
    { spec: { identity: 'viewer', ttl: 5 }, status: 422, says: 'spec.ttl: must be a text' },
    { spec: { identity: 'viewer', ttl: '0s' }, status: 400, says: 'more than 0 and at most 87840h' },
    { spec: { identity: 'viewer', ttl: '99999h' }, status: 400, says: 'more than 0 and at most 87840h' },
    { spec: { identity: 'viewer', tll: '1h' }, status: 422, says: 'spec.tll: unknown field' },
    { spec: { identity: 'tenant:nobody:viewer' }, status: 400, says: 'there is no tenant "nobody"' },
  ])('are refused with one clear message: $says', async ({ spec, status, says }) => {
    const answer = await server.send('POST', path, { headers: json, body: JSON.stringify({ spec }) });
    expect(answer.status).toBe(status);
    expect((JSON.parse(answer.text) as Status).message).toContain(says);
  });

  it('of a tenant end with it, and so do its certificates: another of the same name is not opened', async () => {
    await createTenant('gone');
    const token = await create('tenant:gone:viewer');
    const identity = { kind: 'tenant', tenant: 'gone', role: 'viewer' } as const;
    const byCertificate = testClient(await server.kubeconfigFor(identity));
    const statuses = async (): Promise<number[]> => [
      (await as(token, 'GET', workloads('gone'))).status,
      (await byCertificate.send('GET', workloads('gone'))).status,
    ];
    expect(await statuses()).toEqual([200, 200]);
    await server.send('DELETE', '/apis/berth.dev/v1/tenants/gone');
    const isThere = async (): Promise<boolean> =>
      (await server.send('GET', '/apis/berth.dev/v1/tenants/gone')).status === 200;
    await expect.poll(isThere, { timeout: 60_000 }).toBe(false);
    await createTenant('gone');
    expect(await statuses()).toEqual([401, 401]);
    byCertificate.close();
  }, 120_000);

  it('can be created, listed, read and deleted, and nothing else', async () => {
    expect((await server.send('PUT', `${path}/x`, { headers: json, body: '{}' })).status).toBe(405);
    expect((await server.send('DELETE', path)).status).toBe(405);
    expect((await server.send('GET', `${path}/a/status`)).status).toBe(404);
    expect((await server.send('GET', `${path}/..%2Fcell`)).status).toBe(404);
  });

  it('are in the audit log by their names, without their secrets', async () => {
    const token = await create('viewer');
    await server.send('DELETE', `${path}/${token.metadata.name}`);
    const log = (): string =>
      readdirSync(`${server.dir}/audit`)
        .map((file) => readFileSync(`${server.dir}/audit/${file}`, 'utf8'))
        .join('');
    const verbs = (): string[] =>
      log()
        .split('\n')
        .filter((line) => line.includes(token.metadata.name))
        .map((line) => (JSON.parse(line) as { verb: string }).verb);
    await expect.poll(verbs).toEqual(['create', 'delete']);
    expect(log()).not.toContain(token.status.token.slice(-43));
  });

  it('of a tenant end with it, also if another one takes its name', async () => {
    await createTenant('brief');
    const token = await create('tenant:brief:editor');
    expect((await as(token, 'GET', workloads('brief'))).status).toBe(200);
    await server.send('DELETE', '/apis/berth.dev/v1/tenants/brief');
    const isThere = async (): Promise<number> =>
      (await server.send('GET', '/apis/berth.dev/v1/tenants/brief')).status;
    await expect.poll(isThere).toBe(404);
    await createTenant('brief');
    expect((await as(token, 'GET', workloads('brief'))).status).toBe(401);
  });

  it('still work after the server was started again', async () => {
    const token = await create('tenant:shop:editor');
    await server.dispose();
    server = await startServerIn(scratch.path);
    expect((await as(token, 'GET', workloads('shop'))).status).toBe(200);
    await server.send('DELETE', `${path}/${token.metadata.name}`);
    expect((await as(token, 'GET', workloads('shop'))).status).toBe(401);
    expect(server.defects).toEqual([]);
  });
});
