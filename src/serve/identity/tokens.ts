import { createHash, timingSafeEqual } from 'node:crypto';
import type { Env } from '../../env/env.js';
import { plusMs, wallMs, wallTimestamp } from '../../env/instant.js';
import { formatDuration } from '../../model/duration.js';
import { BerthError } from '../../model/errors.js';
import { formatIdentity, type Identity, parseIdentity } from './identity.js';
import { checkGrant, type JoinGrant } from './join-grant.js';

/** What people may see of a token. */
export interface TokenInfo {
  readonly id: string;
  /** As formatIdentity writes it. */
  readonly identity: string;
  readonly createdAt: string;
  readonly expiresAt: string;
  readonly description: string;
  readonly createdBy: string;
  /** What whoever joins by it becomes. */
  readonly join?: JoinGrant;
  /** The node that joined by it: it opens nothing any more but the same for the same key. */
  readonly usedBy?: { readonly node: string; readonly keyHash: string };
}

/** What is stored of a token: enough to recognise its secret, not to make it. */
export interface TokenRecord extends TokenInfo {
  /** SHA-256, hexadecimal. The secret has 256 random bits, so a slow hash would add nothing. */
  readonly secretHash: string;
  /** Which tenant it is for: another one of the same name later is not meant. */
  readonly tenantUid?: string;
}

/** Where records are kept. A deleted record must be gone for every server before `delete` resolves. */
export interface TokenRecords {
  list(): Promise<readonly TokenRecord[]>;
  /** One record by id: every request with a token asks, so it must not cost a scan. */
  get(id: string): Promise<TokenRecord | undefined>;
  put(record: TokenRecord): Promise<void>;
  /** Whether it was there. */
  delete(id: string): Promise<boolean>;
}

export class MemoryTokenRecords implements TokenRecords {
  readonly #byId = new Map<string, TokenRecord>();

  list(): Promise<readonly TokenRecord[]> {
    return Promise.resolve([...this.#byId.values()]);
  }
  get(id: string): Promise<TokenRecord | undefined> {
    return Promise.resolve(this.#byId.get(id));
  }
  put(record: TokenRecord): Promise<void> {
    this.#byId.set(record.id, record);
    return Promise.resolve();
  }
  delete(id: string): Promise<boolean> {
    return Promise.resolve(this.#byId.delete(id));
  }
}

export interface TokenRequest {
  /** Whom it stands for; or what a machine that joins by it becomes. */
  readonly opens: Identity | JoinGrant;
  readonly ttlMs: number;
  readonly description: string;
  readonly createdBy: Identity;
}

export type TokenOutcome =
  | { readonly kind: 'identity'; readonly identity: Identity; readonly tokenId: string }
  | { readonly kind: 'refused'; readonly reason: string };

// At the bounds `create` is refused with TooManyTokens. A tenant's own bound is lower, so that no tenant's
// owner can use up what others need.
const tokensMax = 10_000;
const tokensPerTenantMax = 1_000;
// So that whoever uses a token a day too late is told what is wrong with it.
const expiredKeptMs = 86_400_000;
const ttlMsMax = 10 * 366 * 86_400_000;
const descriptionLengthMax = 256;

const idBytes = 8;
const secretBytes = 32;
const idPattern = /^[0-9a-f]{16}$/;
const tokenPattern = /^berth_([0-9a-f]{16})_([A-Za-z0-9_-]{43})$/;

const hashOf = (secret: string): Buffer => createHash('sha256').update(secret).digest();

/** Makes, recognises and revokes bearer tokens: `berth_ID_SECRET`. The secret leaves this class once, from `create`. */
export class Tokens {
  readonly #env: Env;
  readonly #records: TokenRecords;
  readonly #max: number;
  readonly #perTenantMax: number;
  readonly #tenantUid: (tenant: string) => Promise<string | undefined>;
  // Creations run one after another, so that two of them cannot both take the last free place.
  #lastCreation: Promise<unknown> = Promise.resolve();

  constructor(parts: {
    env: Env;
    records: TokenRecords;
    /** The uid of the tenant that now has this name; undefined if there is none. */
    tenantUid: (tenant: string) => Promise<string | undefined>;
    limits?: { readonly max: number; readonly perTenantMax: number };
  }) {
    this.#env = parts.env;
    this.#records = parts.records;
    this.#tenantUid = parts.tenantUid;
    this.#max = parts.limits?.max ?? tokensMax;
    this.#perTenantMax = parts.limits?.perTenantMax ?? tokensPerTenantMax;
  }

  /** Whether `createdBy` may give out this identity is authorize's to say, before this is called. */
  create(request: TokenRequest): Promise<{ readonly token: string; readonly info: TokenInfo }> {
    const creation = this.#lastCreation.then(() => this.#create(request));
    this.#lastCreation = creation.catch(() => undefined);
    return creation;
  }

  /** Whether there was such a token. */
  revoke(id: string): Promise<boolean> {
    return this.#records.delete(id);
  }

  /** Those that still open something, oldest first. */
  async list(): Promise<readonly TokenInfo[]> {
    const live = (await this.#records.list()).filter((record) => !this.#isExpired(record));
    return live.map(infoOf).toSorted((a, b) => compare(a.createdAt, b.createdAt) || compare(a.id, b.id));
  }

  /** One that still opens something. */
  async find(id: string): Promise<TokenInfo | undefined> {
    if (!idPattern.test(id)) return undefined;
    const record = await this.#records.get(id);
    return record === undefined || this.#isExpired(record) ? undefined : infoOf(record);
  }

  /**
   * Forgets tokens that expired a day ago; returns how many. Expired tokens past the bound on tokens are forgotten sooner,
   * the oldest first: short-lived tokens must not fill the store.
   */
  async prune(): Promise<number> {
    const expired = (await this.#records.list())
      .filter((record) => this.#isExpired(record))
      .toSorted((a, b) => compare(b.expiresAt, a.expiresAt));
    const forgotten = expired.filter(
      (record, index) => index >= this.#max || this.#isExpired(record, expiredKeptMs),
    );
    for (const { id } of forgotten) await this.#records.delete(id);
    return forgotten.length;
  }

  /** Only who knows the secret learns that a token existed: all other failures give one and the same reason. */
  async authenticate(token: string): Promise<TokenOutcome> {
    const [, id, secret] = tokenPattern.exec(token) ?? [];
    if (id === undefined || secret === undefined) {
      return refused('the bearer token does not have the form berth_ID_SECRET');
    }
    const record = await this.#records.get(id);
    const stored = Buffer.from(record?.secretHash ?? '', 'hex');
    const given = hashOf(secret);
    const isMatch = stored.length === given.length && timingSafeEqual(stored, given);
    if (record === undefined || !isMatch) return refused('the bearer token is unknown or was revoked');
    if (this.#isExpired(record)) return refused(`the bearer token expired at ${record.expiresAt}`);
    let identity: Identity;
    try {
      identity = parseIdentity(record.identity);
    } catch {
      return refused(`the record of token ${id} names no identity; revoke it and create another`);
    }
    if (identity.kind === 'tenant' && (await this.#tenantUid(identity.tenant)) !== record.tenantUid)
      return refused(`the tenant ${identity.tenant} that the bearer token was made for is gone`);
    return { kind: 'identity', identity, tokenId: id };
  }

  async #create(request: TokenRequest): Promise<{ token: string; info: TokenInfo }> {
    const { opens, ttlMs, description } = request;
    const id = this.#env.secret(idBytes).toString('hex');
    const join = 'kind' in opens ? undefined : opens;
    const identity: Identity = 'kind' in opens ? opens : { kind: 'join', token: id };
    if (join !== undefined) checkGrant(join, ttlMs);
    if (identity.kind === 'anonymous' || (identity.kind === 'join' && join === undefined)) {
      throw new BerthError('InvalidIdentity', `a token cannot stand for ${formatIdentity(identity)}`);
    }
    if (!(ttlMs > 0 && ttlMs <= ttlMsMax)) {
      throw new BerthError(
        'InvalidToken',
        `a token lives for more than 0 and at most ${formatDuration(ttlMsMax)}, got ${ttlMs} ms`,
      );
    }
    if (description.length > descriptionLengthMax || /\p{Cc}/u.test(description)) {
      throw new BerthError(
        'InvalidToken',
        `a token's description is one line of at most ${descriptionLengthMax} characters`,
      );
    }
    const tenantUid = identity.kind === 'tenant' ? await this.#tenantUid(identity.tenant) : undefined;
    if (identity.kind === 'tenant' && tenantUid === undefined) {
      throw new BerthError('InvalidToken', `there is no tenant ${JSON.stringify(identity.tenant)}`);
    }
    await this.prune();
    await this.#checkRoom(identity);
    const now = this.#env.clock.wall();
    const secret = this.#env.secret(secretBytes).toString('base64url');
    const info: TokenInfo = {
      id,
      // Through parse, so that no record is written that authenticate could not read back.
      identity: formatIdentity(parseIdentity(formatIdentity(identity))),
      createdAt: wallTimestamp(now),
      expiresAt: wallTimestamp(plusMs(now, ttlMs)),
      description,
      createdBy: formatIdentity(request.createdBy),
      ...(join !== undefined && { join }),
    };
    await this.#records.put({
      ...info,
      secretHash: hashOf(secret).toString('hex'),
      ...(tenantUid === undefined ? {} : { tenantUid }),
    });
    return { token: `berth_${id}_${secret}`, info };
  }

  async #checkRoom(identity: Identity): Promise<void> {
    const records = (await this.#records.list()).filter((record) => !this.#isExpired(record));
    if (records.length >= this.#max) {
      throw new BerthError(
        'TooManyTokens',
        `there are ${records.length} tokens and ${this.#max} are allowed; revoke some first`,
      );
    }
    if (identity.kind !== 'tenant') return;
    const ofTenant = records.filter((record) =>
      record.identity.startsWith(`tenant:${identity.tenant}:`),
    ).length;
    if (ofTenant >= this.#perTenantMax) {
      throw new BerthError(
        'TooManyTokens',
        `tenant ${identity.tenant} has ${ofTenant} tokens and ${this.#perTenantMax} are allowed; revoke some first`,
      );
    }
  }

  // A date that cannot be read counts as past: a damaged record opens nothing.
  #isExpired(record: TokenRecord, forMs = 0): boolean {
    return !(Date.parse(record.expiresAt) + forMs > wallMs(this.#env.clock.wall()));
  }
}

function infoOf(record: TokenRecord): TokenInfo {
  const { secretHash: _, tenantUid: __, ...info } = record;
  return info;
}
const refused = (reason: string): TokenOutcome => ({ kind: 'refused', reason });
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
