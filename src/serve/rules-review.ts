import { BerthError } from '../model/errors.js';
import type { KindDefinition } from '../model/kind.js';
import { subresourcesOf, verbsOf } from './discovery.js';
import { authorize, leaseNameOf, type Verb, verbs } from './identity/authorize.js';
import type { Identity } from './identity/identity.js';
import { tokensGroup, tokensPlural } from './token-resource.js';

interface ResourceRule {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  /** Only for these objects; all if it is not there. */
  readonly resourceNames?: readonly string[];
}

const paths = [
  ...['/livez', '/readyz', '/version', '/metrics', '/api', '/apis', '/openapi/v2', '/openapi/v3'],
  '/apis/authority.berth.dev/v1/audit',
];

/**
 * Answers "what may I do in this namespace?" (authorization.k8s.io SelfSubjectRulesReview) by asking the function that
 * decides real requests for every kind and verb.
 */
export function reviewRules(kinds: readonly KindDefinition[], identity: Identity, body: unknown): object {
  const { spec } = (body ?? {}) as { spec?: { namespace?: unknown } };
  const namespace = spec?.namespace;
  if (typeof namespace !== 'string' || namespace === '')
    throw new BerthError('BadRequest', 'spec.namespace: required, the namespace to review');
  const nonResourceURLs = paths.filter((path) => authorize(identity, { verb: 'get', path }).allowed);
  return {
    kind: 'SelfSubjectRulesReview',
    apiVersion: 'authorization.k8s.io/v1',
    metadata: {},
    spec: { namespace },
    status: {
      resourceRules: [
        ...kinds.flatMap((kind) => rulesOf(kind, identity, namespace)),
        ...tokenRules(identity),
      ],
      nonResourceRules: [{ verbs: ['get'], nonResourceURLs }],
      incomplete: false,
    },
  };
}

function rulesOf(kind: KindDefinition, identity: Identity, namespace: string): ResourceRule[] {
  const resources = [
    { resource: kind.plural, served: verbsOf(kind), subresource: undefined },
    ...subresourcesOf(kind).map(({ name, verbs: served }) => ({
      resource: `${kind.plural}/${name}`,
      served,
      subresource: name,
    })),
  ];
  return resources.flatMap(({ resource, served, subresource }) => {
    const allowed = (name?: string): string[] =>
      verbs.filter(
        (verb) =>
          served.includes(verb) &&
          authorize(identity, {
            verb,
            kind,
            part: subresource === 'status' ? 'status' : 'spec',
            ...(kind.scope === 'Tenant' ? { namespace } : {}),
            ...(name === undefined ? {} : { name }),
            ...(subresource === undefined ? {} : { subresource }),
          }).allowed,
      );
    const ofAll = allowed();
    const rule = { apiGroups: [kind.group], resources: [resource] };
    const ofOwn = ownNames(identity).map((name) => ({
      ...rule,
      verbs: allowed(name).filter((verb) => !ofAll.includes(verb)),
      resourceNames: [name],
    }));
    return [{ ...rule, verbs: ofAll }, ...ofOwn].filter((each) => each.verbs.length > 0);
  });
}

/** The names of objects that may be about the identity itself. */
function ownNames(identity: Identity): string[] {
  const lease = leaseNameOf(identity);
  const name =
    identity.kind === 'tenant' ? identity.tenant : identity.kind === 'node' ? identity.node : undefined;
  return [name, lease].filter((each) => each !== undefined);
}

function tokenRules(identity: Identity): ResourceRule[] {
  const allowed = verbs.filter((verb) => mayTokens(identity, verb));
  if (allowed.length === 0) return [];
  return [{ verbs: allowed, apiGroups: [tokensGroup], resources: [tokensPlural] }];
}

/** Whether an identity may do this to some tokens: to all, or to those of its own tenant. */
export const mayTokens = (identity: Identity, verb: Verb): boolean =>
  (['everyone', identity] as const).some((tokensOf) => authorize(identity, { verb, tokensOf }).allowed);
