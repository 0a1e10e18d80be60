import { describe, expect, it } from 'vitest';
import { VirtualTime } from '../../env/virtual.js';
import type { Identity } from './identity.js';
import { MemoryTokenRecords, type TokenRequest, Tokens } from './tokens.js';

const admin: Identity = { kind: 'admin' };
const editor: Identity = { kind: 'tenant', tenant: 'fraud', role: 'editor' };
const hourMs = 3_600_000;

function world(limits?: { max: number; perTenantMax: number }) {
  const time = new VirtualTime({ seed: 1 });
  const { env } = time.machine('server');
  const records = new MemoryTokenRecords();
  const tenants = new Map([
    ['fraud', 'uid-1'],
    ['frau', 'uid-2'],
  ]);
  const tenantUid = (tenant: string): Promise<string | undefined> => Promise.resolve(tenants.get(tenant));
  const tokens = new Tokens({ env, records, tenantUid, ...(limits === undefined ? {} : { limits }) });
  const pass = async (ms: number): Promise<void> => {
    env.after(ms, () => undefined);
    await time.run();
  };
  return { tokens, records, tenants, pass };
}

const ask = (changes: Partial<TokenRequest> = {}): TokenRequest => ({
  opens: editor,
  ttlMs: hourMs,
  description: 'for the build',
  createdBy: admin,
  ...changes,
});

describe('a token', () => {
  it('stands for its identity, and only its hash is kept', async () => {
    const { tokens, records } = world();
    const { token, info } = await tokens.create(ask());
    expect(info).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{16}$/) as string,
      identity: 'tenant:fraud:editor',
      createdAt: '2026-01-01T00:00:00.000Z',
      expiresAt: '2026-01-01T01:00:00.000Z',
      description: 'for the build',
      createdBy: 'admin',
    });
    expect(await tokens.authenticate(token)).toEqual({
      kind: 'identity',
      identity: editor,
      tokenId: info.id,
    });
    const secret = token.slice(`berth_${info.id}_`.length);
    expect(secret).toHaveLength(43);
    expect(JSON.stringify(await records.list())).not.toContain(secret);
    expect(await tokens.list()).toEqual([info]);
  });

  it('ends when it is revoked', async () => {
    const { tokens } = world();
    const { token, info } = await tokens.create(ask());
    expect(await tokens.revoke(info.id)).toBe(true);
    expect(await tokens.revoke(info.id)).toBe(false);
    expect(await tokens.authenticate(token)).toEqual({
      kind: 'refused',
      reason: 'the bearer token is unknown or was revoked',
    });
    expect(await tokens.list()).toEqual([]);
  });

  it('is for one tenant, not for the next one of the same name, nor for one that is not there', async () => {
    const { tokens, tenants } = world();
    const { token } = await tokens.create(ask());
    tenants.delete('fraud');
    const gone = {
      kind: 'refused',
      reason: 'the tenant fraud that the bearer token was made for is gone',
    };
    expect(await tokens.authenticate(token)).toEqual(gone);
    await expect(tokens.create(ask())).rejects.toThrow('there is no tenant "fraud"');
    tenants.set('fraud', 'uid-3');
    expect(await tokens.authenticate(token)).toEqual(gone);
  });

  it('ends when its time is over, to the millisecond, is called expired for a day, and is then forgotten', async () => {
    const { tokens, records, pass } = world();
    const { token } = await tokens.create(ask());
    await pass(hourMs - 1);
    expect(await tokens.authenticate(token)).toMatchObject({ kind: 'identity' });
    await pass(1);
    expect(await tokens.authenticate(token)).toEqual({
      kind: 'refused',
      reason: 'the bearer token expired at 2026-01-01T01:00:00.000Z',
    });
    expect(await tokens.list()).toEqual([]);
    await pass(24 * hourMs - 1);
    expect(await tokens.prune()).toBe(0);
    expect(await tokens.authenticate(token)).toMatchObject({
      reason: expect.stringContaining('expired at') as string,
    });
    await pass(1);
    expect(await tokens.prune()).toBe(1);
    expect(await records.list()).toEqual([]);
    expect(await tokens.prune()).toBe(0);
  });

  it('does not tell who does not know its secret that it exists, or expired', async () => {
    const { tokens, pass } = world();
    const { token, info } = await tokens.create(ask());
    const other = await tokens.create(ask());
    const unknown = { kind: 'refused', reason: 'the bearer token is unknown or was revoked' };
    const forged = `berth_${info.id}_${other.token.slice(-43)}`;
    expect(await tokens.authenticate(forged)).toEqual(unknown);
    expect(await tokens.authenticate(token.replace(/.{43}$/, 'A'.repeat(43)))).toEqual(unknown);
    expect(await tokens.authenticate(`berth_${'0'.repeat(16)}_${token.slice(-43)}`)).toEqual(unknown);
    await pass(hourMs);
    expect(await tokens.authenticate(forged)).toEqual(unknown);
  });

  it.each(['', 'berth_', 'berth_1_2', 'x'.repeat(100), 'berth_0123456789abcdef_short', ' berth_x_y'])(
    'is not read from %j',
    async (text) => {
      expect(await world().tokens.authenticate(text)).toEqual({
        kind: 'refused',
        reason: 'the bearer token does not have the form berth_ID_SECRET',
      });
    },
  );

  it('is refused when its record is damaged', async () => {
    const { tokens, records } = world();
    const { token } = await tokens.create(ask());
    const [record] = await records.list();
    if (record === undefined) throw new Error('no record');
    await records.put({ ...record, identity: 'root' });
    expect(await tokens.authenticate(token)).toMatchObject({
      reason: expect.stringContaining('no identity') as string,
    });
    await records.put({ ...record, expiresAt: 'some day' });
    expect(await tokens.authenticate(token)).toMatchObject({ kind: 'refused' });
    await records.put({ ...record, secretHash: '' });
    expect(await tokens.authenticate(token)).toMatchObject({ kind: 'refused' });
  });

  it.each<[string, Partial<TokenRequest>]>([
    ['anonymous', { opens: { kind: 'anonymous' } }],
    ['lives for', { ttlMs: 0 }],
    ['lives for', { ttlMs: Number.NaN }],
    ['lives for', { ttlMs: Number.POSITIVE_INFINITY }],
    ['one line', { description: 'x'.repeat(257) }],
    ['one line', { description: 'two\nlines' }],
    ['is not an identity', { opens: { kind: 'node', node: 'A b' } }],
  ])('is not created with what is not allowed: %s', async (message, changes) => {
    const { tokens, records } = world();
    await expect(tokens.create(ask(changes))).rejects.toThrow(message);
    expect(await records.list()).toEqual([]);
  });
});

describe('the number of tokens', () => {
  it('is bounded, also for creations at the same time; expired ones make room', async () => {
    const { tokens, pass } = world({ max: 3, perTenantMax: 3 });
    const made = await Promise.allSettled(
      Array.from({ length: 5 }, () => tokens.create(ask({ opens: admin }))),
    );
    expect(made.map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'fulfilled',
      'rejected',
      'rejected',
    ]);
    await expect(tokens.create(ask())).rejects.toMatchObject({
      code: 'TooManyTokens',
      message: 'there are 3 tokens and 3 are allowed; revoke some first',
    });
    await pass(hourMs);
    await tokens.create(ask());
    expect(await tokens.list()).toHaveLength(1);
  });

  it('that are remembered as expired is bounded, and takes no place of others', async () => {
    const { tokens, records, pass } = world({ max: 3, perTenantMax: 3 });
    const made: string[] = [];
    for (let round = 0; round < 8; round++) {
      made.push((await tokens.create(ask({ ttlMs: 1_000 }))).token);
      await pass(1_000);
    }
    expect((await records.list()).length).toBeLessThanOrEqual(4);
    const reasons = await Promise.all(
      made.map(async (token) => {
        const outcome = await tokens.authenticate(token);
        return outcome.kind === 'refused' ? outcome.reason.split(' at ')[0] : outcome.kind;
      }),
    );
    expect(reasons.at(0)).toBe('the bearer token is unknown or was revoked');
    expect(reasons.slice(-3)).toEqual(Array(3).fill('the bearer token expired'));
  });

  it('is bounded per tenant, so that one tenant cannot take the places of others', async () => {
    const { tokens } = world({ max: 100, perTenantMax: 2 });
    await tokens.create(ask());
    await tokens.create(ask());
    await expect(tokens.create(ask())).rejects.toThrow('tenant fraud has 2 tokens and 2 are allowed');
    await tokens.create(ask({ opens: { kind: 'tenant', tenant: 'frau', role: 'viewer' } }));
    await tokens.create(ask({ opens: admin }));
  });
});
