import { BerthError, isBerthError } from '../model/errors.js';
import { parseDurationMs } from '../model/duration.js';
import type { FieldError } from '../model/object.js';
import { type ApiRequest, type ApiResponse, valueResponse } from './api-request.js';
import { authorize, type Verb } from './identity/authorize.js';
import { formatIdentity, type Identity, parseIdentity } from './identity/identity.js';
import type { JoinGrant } from './identity/join-grant.js';
import type { TokenInfo, Tokens } from './identity/tokens.js';
import { bodyTypeOf, readBody } from './read-body.js';
import { successStatus } from './status.js';

export const tokensGroup = 'authentication.berth.dev';
export const tokensPlural = 'tokens';

const apiVersion = `${tokensGroup}/v1`;
const ttlDefault = '24h';
const specFields = ['identity', 'join', 'ttl', 'description'];
const joinFields = ['node', 'prefix', 'region', 'zone'];

/** Bearer tokens over the API: create tells the secret once; list and get never do; delete revokes. */
export class TokenResource {
  constructor(
    private readonly parts: {
      readonly tokens: Tokens;
      /** What a join token is followed by, so that the machine knows the CA when it sees it. */
      readonly authorityPin: string;
    },
  ) {}

  async handle(request: ApiRequest, verb: Verb, id: string | undefined): Promise<ApiResponse> {
    switch (verb) {
      case 'create':
        return this.#create(request);
      case 'list':
        return this.#list(request);
      case 'get':
        return valueResponse(200, shown(await this.#find(request, verb, id ?? '')));
      case 'delete': {
        const { id: name } = await this.#find(request, verb, id ?? '');
        if (!(await this.parts.tokens.revoke(name))) throw notFound(name);
        return valueResponse(200, successStatus({ name, group: tokensGroup, kind: tokensPlural }));
      }
      default:
        throw new BerthError('MethodNotAllowed', `tokens cannot be the target of ${verb}`);
    }
  }

  async #create(request: ApiRequest): Promise<ApiResponse> {
    const body = await readBody(bodyTypeOf(request.contentType, ['json', 'yaml']), request.body);
    const { opens, ttlMs, description } = readSpec(body);
    refuseUnlessAllowed(request.identity, 'create', 'kind' in opens ? opens : someJoin);
    const { token, info } = await this.parts.tokens.create({
      ...{ opens, ttlMs, description },
      createdBy: request.identity,
    });
    const { status, ...rest } = shown(info);
    const said = info.join === undefined ? token : `${token}.${this.parts.authorityPin}`;
    return valueResponse(201, { ...rest, status: { ...status, token: said } });
  }

  async #list({ identity }: ApiRequest): Promise<ApiResponse> {
    // Who may not see all sees those of its own tenant, if it manages any.
    const isAll = authorize(identity, { verb: 'list', tokensOf: 'everyone' }).allowed;
    if (!isAll) refuseUnlessAllowed(identity, 'list', identity);
    const items = (await this.parts.tokens.list()).filter(
      (info) => isAll || mayTouch(identity, 'list', info),
    );
    return valueResponse(200, { kind: 'TokenList', apiVersion, metadata: {}, items: items.map(shown) });
  }

  /** A token that the sender may not touch is, to it, not there. */
  async #find({ identity }: ApiRequest, verb: Verb, id: string): Promise<TokenInfo> {
    const isAll = authorize(identity, { verb, tokensOf: 'everyone' }).allowed;
    if (!isAll) refuseUnlessAllowed(identity, verb, identity);
    const info = await this.parts.tokens.find(id);
    if (info === undefined || !(isAll || mayTouch(identity, verb, info))) throw notFound(id);
    return info;
  }
}

const notFound = (id: string): BerthError =>
  new BerthError('NotFound', `tokens ${JSON.stringify(id)} not found`, {
    details: { kind: tokensPlural, group: tokensGroup, name: id },
  });

function refuseUnlessAllowed(identity: Identity, verb: Verb, tokensOf: Identity): void {
  const access = authorize(identity, { verb, tokensOf });
  if (access.allowed) return;
  const code = identity.kind === 'anonymous' ? 'Unauthorized' : 'Forbidden';
  throw new BerthError(code, `${formatIdentity(identity)} may not do this: ${access.reason}`);
}

function mayTouch(identity: Identity, verb: Verb, info: TokenInfo): boolean {
  try {
    return authorize(identity, { verb, tokensOf: parseIdentity(info.identity) }).allowed;
  } catch (error) {
    // A damaged record belongs to nobody: only who may touch all can remove it.
    if (isBerthError(error, 'InvalidIdentity')) return false;
    throw error;
  }
}

// Who may make one may make any.
const someJoin: Identity = { kind: 'join', token: '0'.repeat(16) };

const shown = ({ id, identity, createdAt, expiresAt, description, createdBy, join, usedBy }: TokenInfo) => ({
  kind: 'Token',
  apiVersion,
  metadata: { name: id, creationTimestamp: createdAt },
  spec: {
    identity,
    ...(description === '' ? {} : { description }),
    ...(join === undefined ? {} : { join }),
  },
  status: { expiresAt, createdBy, ...(usedBy === undefined ? {} : { usedBy: usedBy.node }) },
});

function readSpec(body: unknown): { opens: Identity | JoinGrant; ttlMs: number; description: string } {
  const { spec } = (body ?? {}) as { spec?: unknown };
  if (typeof spec !== 'object' || spec === null || Array.isArray(spec))
    throw invalid({ path: 'spec', reason: 'Required', message: 'required: what the token is to be' });
  const fields = spec as Record<string, unknown>;
  const unknown = Object.keys(fields).find((name) => !specFields.includes(name));
  if (unknown !== undefined) {
    const message = `unknown field; allowed are ${specFields.join(', ')}`;
    throw invalid({ path: `spec.${unknown.slice(0, 100)}`, reason: 'Unknown', message });
  }
  const textOf = (name: string, otherwise?: string): string => {
    const value = fields[name] ?? otherwise;
    if (typeof value === 'string') return value;
    const reason = value === undefined ? 'Required' : 'Invalid';
    throw invalid({
      path: `spec.${name}`,
      reason,
      message: reason === 'Required' ? 'required' : 'must be a text',
    });
  };
  const { join } = fields;
  if (join !== undefined && fields['identity'] !== undefined)
    throw invalid({ path: 'spec.join', reason: 'Forbidden', message: 'give identity or join, not both' });
  return {
    opens:
      join === undefined ? parsed('spec.identity', () => parseIdentity(textOf('identity'))) : readGrant(join),
    ttlMs: parsed('spec.ttl', () => parseDurationMs(textOf('ttl', ttlDefault))),
    description: textOf('description', ''),
  };
}

function readGrant(join: unknown): JoinGrant {
  if (typeof join !== 'object' || join === null || Array.isArray(join))
    throw invalid({ path: 'spec.join', reason: 'Invalid', message: 'must be an object' });
  for (const [name, value] of Object.entries(join)) {
    const path = `spec.join.${name.slice(0, 100)}`;
    if (!joinFields.includes(name))
      throw invalid({
        path,
        reason: 'Unknown',
        message: `unknown field; allowed are ${joinFields.join(', ')}`,
      });
    if (typeof value !== 'string') throw invalid({ path, reason: 'Invalid', message: 'must be a text' });
  }
  // A parsed boundary: every field is a text that is known.
  return { region: 'local', zone: 'local', ...(join as Partial<JoinGrant>) };
}

function parsed<T>(path: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (!isBerthError(error) || error.code === 'Invalid') throw error;
    throw invalid({ path, reason: 'Invalid', message: error.message });
  }
}

const invalid = (error: FieldError): BerthError =>
  new BerthError('Invalid', `Token is invalid: ${error.path}: ${error.message}`, {
    details: { kind: 'Token', group: tokensGroup, causes: [error] },
  });
