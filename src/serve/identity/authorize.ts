import type { KindDefinition, Writer } from '../../model/kind.js';
import { authorityPath, joinPath, nodeStreamPath, renewPath } from '../../model/node-wire.js';
import { attachPath, peerSessionPath } from '../../model/sessions.js';
import { usagePath } from '../../model/usage.js';
import type { Identity } from './identity.js';

/**
 * Who may do what, all of it: DESIGN §3 and §4 as one pure function. Whatever no rule here allows is denied.
 * There is no impersonation: nobody, not even admin, can act as somebody else. docs/rights.md is this
 * function, written out as tables.
 */

export const readVerbs = ['get', 'list', 'watch'] as const;
export const changeVerbs = ['update', 'patch', 'apply'] as const;
export const existenceVerbs = ['create', 'delete', 'deletecollection'] as const;
export const verbs = [...readVerbs, ...changeVerbs, ...existenceVerbs] as const;
export type Verb = (typeof verbs)[number];
export type Part = 'spec' | 'status' | 'metadata';

/** What has to be known of a kind to say who may do what with it. */
export type KindRights = Pick<KindDefinition, 'kind' | 'plural' | 'scope' | 'writers'>;

export interface ObjectRequest {
  readonly verb: Verb;
  readonly kind: KindRights;
  /** Absent for cluster kinds, and for a list or watch over all tenants. */
  readonly namespace?: string;
  /** Absent for a create without name and for collections. A list or watch of one name may carry it. */
  readonly name?: string;
  readonly subresource?: string;
  /** What a write changes. The subresource `status` changes the status whatever is said here. */
  readonly part: Part;
}

/** A path that is no object: health, discovery, metrics, questions about oneself. */
export interface PathRequest {
  readonly verb: Verb;
  readonly path: string;
}

/** Tokens are no kind: they are never listed among objects, watched, or kept in an audit line. */
export interface TokensRequest {
  readonly verb: Verb;
  /** Whose tokens: the identity a token gives, or all there are. */
  readonly tokensOf: Identity | 'everyone';
}

/** To speak for a node on a node stream: to register it, renew its lease and report. */
export interface NodeRequest {
  readonly verb: Verb;
  readonly actsForNode: string;
}

export type AccessRequest = ObjectRequest | PathRequest | TokensRequest | NodeRequest;
export type Access = { readonly allowed: true } | { readonly allowed: false; readonly reason: string };

const allowed: Access = { allowed: true };
const denied = (reason: string): Access => ({ allowed: false, reason });
const includes = (list: readonly string[], text: string): boolean => list.includes(text);

export function authorize(identity: Identity, request: AccessRequest): Access {
  if ('path' in request) return authorizePath(identity, request);
  if ('actsForNode' in request) return authorizeNode(identity, request);
  if ('tokensOf' in request) return authorizeTokens(identity, request);
  const subresource = request.subresource ?? '';
  if (subresource === 'why' || subresource === 'trace') return mayAskWhy(identity, request);
  if (request.kind.kind === 'Replica' && (subresource === 'log' || subresource === 'exec'))
    return subresource === 'log' ? mayReadLog(identity, request) : mayExec(identity, request);
  if (!includes(['', 'status', 'scale'], subresource)) {
    return denied(`nobody may use the subresource ${subresource} of ${request.kind.plural}`);
  }
  if (subresource !== '' && includes(existenceVerbs, request.verb)) {
    return denied(`a subresource cannot be the target of ${request.verb}`);
  }
  return includes(readVerbs, request.verb) ? mayRead(identity, request) : mayWrite(identity, request);
}

// Cluster kinds that a tenant needs in order to understand where its work can go.
const readByEveryTenant = ['PriorityClass', 'Region', 'Node'];
// Cluster kinds whose objects are named after the tenant they are about.
const namedAfterTenant = ['Tenant', 'Namespace', 'TenantLedger'];

function mayRead(identity: Identity, request: ObjectRequest): Access {
  const { kind } = request;
  switch (identity.kind) {
    case 'admin':
    case 'viewer':
    case 'controller':
      return allowed;
    case 'tenant': {
      const { tenant } = identity;
      if (kind.scope === 'Tenant') {
        return request.namespace === tenant
          ? allowed
          : denied(`tenant ${tenant} reads only its own ${kind.plural}; ask for namespace ${tenant}`);
      }
      if (readByEveryTenant.includes(kind.kind)) return allowed;
      if (namedAfterTenant.includes(kind.kind)) {
        return request.name === tenant
          ? allowed
          : denied(`tenant ${tenant} reads only the ${kind.kind} named ${tenant}`);
      }
      return denied(`tenants do not read ${kind.plural}`);
    }
    case 'node': {
      const own = ownName(identity, kind);
      if (own === undefined) return denied(`nodes do not read ${kind.plural}`);
      return request.name === own
        ? allowed
        : denied(`node ${identity.node} reads only the ${kind.kind} named ${own}`);
    }
    case 'hollow':
      return kind.kind === 'Region'
        ? allowed
        : denied(`who plays nodes reads only regions, not ${kind.plural}`);
    case 'join':
      return denied('a join token is for joining, and for nothing else');
    case 'anonymous':
      return denied('anonymous reads no objects; give a token or a client certificate');
  }
}

/** Whoever may read an object may ask why; but nodes, because an answer speaks of what tenants have decided on. */
function mayAskWhy(identity: Identity, request: ObjectRequest): Access {
  if (request.verb !== 'get') return denied(`why cannot be the target of ${request.verb}`);
  if (identity.kind === 'node') return denied('nodes do not ask why');
  return mayRead(identity, request);
}

/** What a job prints may hold what only its tenant should know: nodes and controllers do not read it. */
function mayReadLog(identity: Identity, request: ObjectRequest): Access {
  if (request.verb !== 'get') return denied(`a log cannot be the target of ${request.verb}`);
  if (identity.kind !== 'admin' && identity.kind !== 'viewer' && identity.kind !== 'tenant')
    return denied('logs are read by admin, viewer and the tenant they are of');
  return mayRead(identity, request);
}

/** To run a command beside a replica is to change what runs: whoever may write the tenant's workloads may. */
function mayExec(identity: Identity, request: ObjectRequest): Access {
  if (request.verb !== 'create') return denied(`exec cannot be the target of ${request.verb}`);
  if (identity.kind === 'admin') return allowed;
  if (identity.kind !== 'tenant') return denied('commands are run by admin and the tenant of the replica');
  if (identity.role === 'viewer') return denied('a viewer only reads');
  return request.namespace === identity.tenant
    ? allowed
    : denied(`tenant ${identity.tenant} runs commands only in namespace ${identity.tenant}`);
}

function mayWrite(identity: Identity, request: ObjectRequest): Access {
  const { kind } = request;
  if (identity.kind === 'anonymous') {
    return denied('anonymous writes nothing; give a token or a client certificate');
  }
  if (identity.kind === 'viewer' || (identity.kind === 'tenant' && identity.role === 'viewer')) {
    return denied('a viewer only reads');
  }
  const writers = writersOf(request).filter((writer) => writer !== 'nobody');
  if (writers.some((writer) => writesAs(identity, writer, request))) return allowed;
  const what = includes(existenceVerbs, request.verb) ? kind.kind : `${kind.kind}.${partOf(request)}`;
  if (writers.length === 0) return denied(`${what} is written by nobody`);
  if (identity.kind === 'tenant' && writers.includes('user')) {
    return denied(`tenant ${identity.tenant} writes only in namespace ${identity.tenant}`);
  }
  const own = ownName(identity, kind);
  if (own !== undefined && writers.includes('agent')) {
    return request.name === own
      ? denied(`${kind.plural} are not deleted by those they are about`)
      : denied(`${what} named ${own} is the only one this identity writes`);
  }
  return denied(`${what} is written by ${writers.join(' and ')}`);
}

const partOf = (request: ObjectRequest): Part => (request.subresource === 'status' ? 'status' : request.part);

/** The writers of what a request changes; any of them may. */
function writersOf(request: ObjectRequest): readonly Writer[] {
  const { spec, status } = request.kind.writers;
  // A kind without a spec of its own (Endpoints) exists through whoever writes its status.
  const owner = spec === 'nobody' ? status : spec;
  if (includes(existenceVerbs, request.verb)) return [owner];
  switch (partOf(request)) {
    case 'spec':
      return [spec];
    case 'status':
      return [status];
    case 'metadata':
      // Controllers keep finalizers on what they work for. A node's labels are the operator's, so its agent
      // does not write them.
      return status === owner || status === 'agent' ? [owner] : [owner, status];
  }
}

/** Whether, for this very object, the identity is the writer that the kind names. */
function writesAs(identity: Identity, writer: Writer, request: ObjectRequest): boolean {
  const { kind } = request;
  switch (writer) {
    case 'user':
      if (identity.kind === 'admin') return true;
      return (
        identity.kind === 'tenant' &&
        identity.role !== 'viewer' &&
        kind.scope === 'Tenant' &&
        request.namespace === identity.tenant
      );
    case 'operator':
      return identity.kind === 'admin';
    case 'workload-controller':
    case 'endpoints-controller':
    case 'scheduler':
    case 'commit':
      return identity.kind === 'controller' && identity.controller === writer;
    case 'system':
      return identity.kind === 'controller';
    case 'agent': {
      if (identity.kind !== 'node') return false;
      const own = ownName(identity, kind);
      const isDelete = request.verb === 'delete' || request.verb === 'deletecollection';
      return own !== undefined && own === request.name && !isDelete;
    }
    case 'nobody':
      return false;
  }
}

/** The lease an identity may hold. No two identities share one: identity.ts refuses controller names that would. */
export function leaseNameOf(identity: Identity): string | undefined {
  if (identity.kind === 'node') return `node-${identity.node}`;
  if (identity.kind !== 'controller') return undefined;
  return identity.controller === 'commit' ? 'authority' : identity.controller;
}

/** The name of the one object of this kind that is about the identity itself. */
function ownName(identity: Identity, kind: KindRights): string | undefined {
  if (kind.kind === 'Lease') return leaseNameOf(identity);
  return kind.kind === 'Node' && identity.kind === 'node' ? identity.node : undefined;
}

// The CA is a public thing: whoever reads it here compares it with what it was told elsewhere.
const openPaths = ['/livez', '/readyz', '/version', authorityPath];
const discoveryPaths =
  /^\/(api|api\/v1|apis|apis\/berth\.dev|apis\/berth\.dev\/v1|openapi\/v2|openapi\/v3(\/[a-z0-9./-]+)?)$/;
const selfReviewPaths = [
  '/apis/authentication.k8s.io/v1/selfsubjectreviews',
  '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
  '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews',
];

/** Nodes speak for themselves alone, and admin for none: what a node says is evidence. */
function authorizeNode(identity: Identity, { verb, actsForNode: node }: NodeRequest): Access {
  if (verb !== 'update') return denied(`to act for a node is to update it, not to ${verb} it`);
  if (identity.kind === 'node')
    return identity.node === node ? allowed : denied(`node ${identity.node} acts only for itself`);
  if (identity.kind !== 'hollow')
    return denied('only node:NAME acts for a node, and hollow:PREFIX for nodes whose names begin so');
  return node.startsWith(identity.prefix)
    ? allowed
    : denied(
        `it acts only for nodes whose names begin with ${identity.prefix}, not for ${node.slice(0, 100)}`,
      );
}

/** What needs attention: everywhere, for a tenant what is its own. */
export const attentionPath = '/attention';
/** Where Prometheus finds what to scrape: all targets, for a tenant its own. */
export const discoveryTargetsPath = '/discovery/prometheus';
const auditPath = '/apis/authority.berth.dev/v1/audit';
const fencePath = '/apis/authority.berth.dev/v1/fence';
const attestationPaths = /^\/apis\/authority\.berth\.dev\/v1\/attestations\/[^/]+(\/withdraw)?$/;
const operationPaths = /^\/apis\/authority\.berth\.dev\/v1\/operations\/[^/]+$/;

function authorizePath(identity: Identity, { verb, path }: PathRequest): Access {
  if (verb === 'get' && openPaths.includes(path)) return allowed;
  if (identity.kind === 'anonymous') {
    return denied(`anonymous sees only ${openPaths.join(', ')}; give a token or a client certificate`);
  }
  if (identity.kind === 'join') {
    return verb === 'create' && path === joinPath
      ? allowed
      : denied('a join token is for joining, and for nothing else');
  }
  if (verb === 'get' && discoveryPaths.test(path)) return allowed;
  if (verb === 'create' && selfReviewPaths.includes(path)) return allowed;
  if (verb === 'get' && path === '/metrics') {
    return identity.kind === 'admin' || identity.kind === 'viewer' || identity.kind === 'controller'
      ? allowed
      : denied('metrics speak of all tenants; admin, viewer and controllers read them');
  }
  if (verb === 'get' && (path === discoveryTargetsPath || path === attentionPath)) {
    return identity.kind === 'admin' || identity.kind === 'viewer' || identity.kind === 'tenant'
      ? allowed
      : denied('it speaks of all tenants; admin and viewer read it, and tenants what is theirs');
  }
  if (verb === 'get' && path === usagePath) {
    const isServer = identity.kind === 'controller' && identity.controller === 'commit';
    return identity.kind === 'admin' || identity.kind === 'viewer' || identity.kind === 'tenant' || isServer
      ? allowed
      : denied('it speaks of all tenants; admin, viewer and servers read it, and tenants what is theirs');
  }
  if (verb === 'get' && path === nodeStreamPath) {
    return identity.kind === 'node' || identity.kind === 'hollow'
      ? allowed
      : denied('node streams are for node:NAME and hollow:PREFIX');
  }
  if (verb === 'create' && path === joinPath) return denied('a machine joins by a join token');
  if (verb === 'create' && path === renewPath) {
    return identity.kind === 'node' ? allowed : denied('only node:NAME renews its certificate');
  }
  if (verb === 'get' && path.startsWith(attachPath)) {
    return identity.kind === 'node' ? allowed : denied('sessions of a node are answered by node:NAME');
  }
  if (verb === 'get' && path.startsWith(peerSessionPath)) {
    return identity.kind === 'controller' && identity.controller === 'commit'
      ? allowed
      : denied('only servers of the cell (controller:commit) ask one another for sessions');
  }
  if (verb === 'get' && path === auditPath) {
    return identity.kind === 'admin' || identity.kind === 'viewer'
      ? allowed
      : denied('an audit speaks of all tenants; admin and viewer ask for it');
  }
  if (path === fencePath && (verb === 'get' || verb === 'create')) {
    return identity.kind === 'admin' || (identity.kind === 'viewer' && verb === 'get')
      ? allowed
      : denied('the fence is of the whole cell: admin sets it, admin and viewer look at it');
  }
  if (verb === 'create' && attestationPaths.test(path)) {
    return identity.kind === 'admin'
      ? allowed
      : denied('that something has stopped is attested by an operator: admin');
  }
  if (verb === 'create' && operationPaths.test(path)) {
    return identity.kind === 'controller' && identity.controller === 'commit'
      ? allowed
      : denied('only servers of the cell (controller:commit) forward operations to one another');
  }
  return denied(`nobody may ${verb} the path ${path.slice(0, 200)}`);
}

const tokenVerbs: readonly string[] = ['get', 'list', 'create', 'delete'];

function authorizeTokens(identity: Identity, { verb, tokensOf }: TokensRequest): Access {
  if (!tokenVerbs.includes(verb)) return denied(`tokens cannot be the target of ${verb}`);
  if (tokensOf !== 'everyone' && tokensOf.kind === 'anonymous') {
    return denied('a token cannot stand for anonymous');
  }
  if (identity.kind === 'admin') return allowed;
  if (identity.kind !== 'tenant' || identity.role !== 'owner') {
    return denied("tokens are managed by admin, and a tenant's by its owner");
  }
  return tokensOf !== 'everyone' && tokensOf.kind === 'tenant' && tokensOf.tenant === identity.tenant
    ? allowed
    : denied(`the owner of tenant ${identity.tenant} manages only that tenant's tokens`);
}
