import { BerthError } from '../model/errors.js';
import type { KindDefinition } from '../model/kind.js';
import { type Access, authorize, type Verb, verbs } from './identity/authorize.js';
import { formatIdentity, type Identity, subjectOf } from './identity/identity.js';
import { mayTokens } from './rules-review.js';
import { tokensGroup, tokensPlural } from './token-resource.js';

interface ReviewSpec {
  readonly resourceAttributes?: {
    readonly namespace?: string;
    readonly verb?: string;
    readonly group?: string;
    readonly resource?: string;
    readonly subresource?: string;
    readonly name?: string;
  };
  readonly nonResourceAttributes?: { readonly path?: string; readonly verb?: string };
}

/** Answers "may I?" (authorization.k8s.io SelfSubjectAccessReview) with the same function that decides real requests. */
export function reviewAccess(kinds: readonly KindDefinition[], identity: Identity, body: unknown): object {
  const { spec } = (body ?? {}) as { spec?: ReviewSpec };
  if (typeof spec !== 'object' || spec === null)
    throw new BerthError('BadRequest', 'spec: required, the access to review');
  const access = accessOf(kinds, identity, spec);
  return {
    kind: 'SelfSubjectAccessReview',
    apiVersion: 'authorization.k8s.io/v1',
    metadata: {},
    spec,
    status: access.allowed ? { allowed: true } : { allowed: false, reason: access.reason },
  };
}

function accessOf(kinds: readonly KindDefinition[], identity: Identity, spec: ReviewSpec): Access {
  const { resourceAttributes: resource, nonResourceAttributes: path } = spec;
  if (path !== undefined) return authorize(identity, { verb: 'get', path: path.path ?? '' });
  if (resource === undefined) {
    throw new BerthError(
      'BadRequest',
      'spec: one of resourceAttributes and nonResourceAttributes is required',
    );
  }
  if (resource.group === tokensGroup && resource.resource === tokensPlural) {
    const verb = verbs.find((candidate) => candidate === resource.verb);
    return verb !== undefined && mayTokens(identity, verb)
      ? { allowed: true }
      : { allowed: false, reason: "tokens are managed by admin, and a tenant's by its owner" };
  }
  const wantedKinds = kinds.filter(
    (kind) =>
      (resource.resource === '*' || kind.plural === resource.resource) &&
      (resource.group === undefined ||
        resource.group === '*' ||
        resource.group === kind.group ||
        resource.group === ''),
  );
  const wantedVerbs = resource.verb === '*' ? verbs : verbs.filter((verb) => verb === resource.verb);
  if (wantedKinds.length === 0)
    return { allowed: false, reason: `there is no resource ${JSON.stringify(resource.resource)}` };
  if (wantedVerbs.length === 0)
    return { allowed: false, reason: `there is no verb ${JSON.stringify(resource.verb)}` };
  for (const kind of wantedKinds) {
    for (const verb of wantedVerbs) {
      const access = authorize(identity, {
        verb: verb satisfies Verb,
        kind,
        part: resource.subresource === 'status' ? 'status' : 'spec',
        ...(kind.scope === 'Tenant' && resource.namespace ? { namespace: resource.namespace } : {}),
        ...(resource.name ? { name: resource.name } : {}),
        ...(resource.subresource ? { subresource: resource.subresource } : {}),
      });
      if (!access.allowed) return access;
    }
  }
  return { allowed: true };
}

/** Answers "who am I?" (authentication.k8s.io SelfSubjectReview). */
export const reviewSelf = (identity: Identity): object => ({
  kind: 'SelfSubjectReview',
  apiVersion: 'authentication.k8s.io/v1',
  metadata: {},
  status: { userInfo: { username: formatIdentity(identity), groups: subjectOf(identity).groups } },
});
