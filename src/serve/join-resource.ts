import { BerthError } from '../model/errors.js';
import { nodesGroup } from '../model/node-wire.js';
import { type ApiRequest, type ApiResponse, valueResponse } from './api-request.js';
import { authorize, type Verb } from './identity/authorize.js';
import { formatIdentity } from './identity/identity.js';
import type { Joins } from './identity/joins.js';
import { bodyTypeOf, readBody } from './read-body.js';
import type { ResourcePath } from './resource-path.js';

/** Joining over the API: by a join token a machine becomes a node, and by its certificate it gets the next one. */
export class JoinResource {
  constructor(
    private readonly parts: {
      readonly joins: Joins;
      /** The CA, PEM. */
      readonly authority: string;
    },
  ) {}

  static route({ method }: Pick<ApiRequest, 'method'>, path: ResourcePath): { verb: Verb; kindName: string } {
    const { plural, name, namespace, version } = path;
    const isThere = namespace === undefined && name === undefined && version === 'v1';
    if (!isThere || !['join', 'renew', 'authority'].includes(plural))
      throw new BerthError(
        'NotFound',
        `${nodesGroup} has only v1/join, v1/renew, v1/authority and v1/stream`,
      );
    const [allowed, verb] =
      plural === 'authority' ? (['GET', 'get'] as const) : (['POST', 'create'] as const);
    if (method !== allowed)
      throw new BerthError('MethodNotAllowed', `${method} is not possible here; allowed is ${allowed}`);
    return { verb, kindName: 'Join' };
  }

  async handle(request: ApiRequest, verb: Verb): Promise<ApiResponse> {
    const { identity, path } = request;
    const access = authorize(identity, { verb, path });
    if (!access.allowed) {
      const code = identity.kind === 'anonymous' ? 'Unauthorized' : 'Forbidden';
      throw new BerthError(code, `${formatIdentity(identity)} may not do this: ${access.reason}`);
    }
    const { joins, authority } = this.parts;
    if (verb === 'get') return valueResponse(200, { authority });
    const body = ((await readBody(bodyTypeOf(request.contentType, ['json']), request.body)) ?? {}) as Record<
      string,
      unknown
    >;
    // With what makes certificates, which a server that nobody joins starts without.
    const { readRequest } = await import('./identity/certificate-request.js');
    const asked = await readRequest(textOf(body, 'request'));
    if (identity.kind === 'join') {
      const node = textOf(body, 'node');
      const expected = optionalTexts(body, ['region', 'zone', 'loopbackOf']);
      return valueResponse(201, await joins.join(identity.token, node, asked, expected));
    }
    if (identity.kind === 'node') return valueResponse(201, await joins.renew(identity.node, asked));
    throw new Error(`authorize let ${formatIdentity(identity)} join`);
  }
}

/** The fields of a body that are there; a field of another type than text is refused. */
function optionalTexts<Name extends string>(
  body: Readonly<Record<string, unknown>>,
  names: readonly Name[],
): Partial<Record<Name, string>> {
  const texts: Partial<Record<Name, string>> = {};
  for (const name of names) if (body[name] !== undefined) texts[name] = textOf(body, name);
  return texts;
}

function textOf(body: Readonly<Record<string, unknown>>, name: string): string {
  const value = body[name];
  if (typeof value === 'string') return value;
  throw new BerthError('BadRequest', `${name}: ${value === undefined ? 'required' : 'must be a text'}`);
}
