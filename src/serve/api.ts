import { BerthError } from '../model/errors.js';
import type { Explain } from '../model/explanation.js';
import type { Endpoints } from '../model/kinds/endpoints.js';
import type { KindDefinition } from '../model/kind.js';
import { nearest } from '../model/nearest.js';
import { nodesGroup } from '../model/node-wire.js';
import { isRecordView } from '../model/record-views.js';
import { sessionProtocol } from '../model/sessions.js';
import { usagePath } from '../model/usage.js';
import type { Freshness } from '../objects/freshness.js';
import { reviewAccess, reviewSelf } from './access-review.js';
import { type ApiRequest, type ApiResponse, valueResponse } from './api-request.js';
import { authorityGroup, type AuthorityParts, AuthorityResource } from './authority-resource.js';
import {
  aggregatedDiscovery,
  apiGroup,
  apiGroupList,
  apiVersions,
  resourceList,
  verbsOf,
} from './discovery.js';
import { type DecisionParts, DecisionResource } from './decision-resource.js';
import { explainOver, isExplained, traceOver, traceSubresource, whySubresource } from './explain-resource.js';
import { attentionPath, authorize, discoveryTargetsPath, type Verb } from './identity/authorize.js';
import { formatIdentity } from './identity/identity.js';
import type { Tokens } from './identity/tokens.js';
import { JoinResource } from './join-resource.js';
import type { Metrics } from './metrics.js';
import { wantsAggregatedDiscovery } from './negotiate.js';
import { openApiProtobuf, openApiProtobufType } from './openapi-protobuf.js';
import { prometheusTargets } from './prometheus-targets.js';
import { bodyTypeOf, readBody } from './read-body.js';
import { isTrue } from './request-options.js';
import { parseResourcePath, type ResourcePath } from './resource-path.js';
import { type ResourceParts, Resources } from './resources.js';
import { reviewRules } from './rules-review.js';
import {
  execSubresource,
  hasSessions,
  logSubresource,
  type ReplicaSessions,
} from './sessions/replica-sessions.js';
import { TokenResource, tokensGroup, tokensPlural } from './token-resource.js';
import { type UsageParts, usageOver } from './usage-resource.js';

/** What a request turned out to be about, for the metrics and the audit log. */
export interface Routed {
  readonly verb: Verb;
  readonly path: ResourcePath;
  readonly kindName: string;
  readonly target: KindDefinition | 'tokens' | 'authority' | 'joining';
}

const group = 'berth.dev';
const kubernetesVersion = '1.31.0';
// Reads are refused by what they wait for; a collection takes as long as it is large.
const singleWrites: ReadonlySet<Verb> = new Set(['create', 'update', 'patch', 'apply', 'delete']);
const reviewGroups = ['authorization.k8s.io', 'authentication.k8s.io'];

/** All of the API but the HTTP: finds out what a request is about, whether its sender may, and does it. */
export class Api {
  readonly #resources: ReadonlyMap<KindDefinition, Resources>;
  readonly #tokens: TokenResource;
  readonly #authority: AuthorityResource;
  readonly #decisions: DecisionResource;

  constructor(
    private readonly parts: ResourceParts & {
      readonly kinds: readonly KindDefinition[];
      readonly version: string;
      /** The uid of the cell. */
      readonly cell: string;
      /** The OpenAPI documents, by path. */
      readonly openapi: ReadonlyMap<string, unknown>;
      readonly tokens: Tokens;
      /** The pin of the cell's CA. */
      readonly authorityPin: string;
      readonly joining: JoinResource;
      readonly authority: AuthorityParts;
      readonly decisions: DecisionParts;
      readonly explain: Explain;
      /** Where services are, for discovery. */
      readonly endpoints: () => Iterable<Endpoints>;
      readonly usage: UsageParts;
      readonly sessions: Pick<ReplicaSessions, 'log'>;
      readonly freshness: Freshness;
      readonly metrics: Pick<Metrics, 'text' | 'contentType'>;
    },
  ) {
    this.#resources = new Map(parts.kinds.map((kind) => [kind, new Resources(parts, kind)]));
    this.#tokens = new TokenResource(parts);
    this.#authority = new AuthorityResource(parts.authority);
    this.#decisions = new DecisionResource(parts.decisions, parts);
  }

  /** What a request is about; undefined if it is not about objects. */
  route(request: Pick<ApiRequest, 'method' | 'path' | 'query' | 'contentType'>): Routed | undefined {
    const path = parseResourcePath(request.path);
    if (path === undefined || reviewGroups.includes(path.group)) return undefined;
    if (path.group === tokensGroup && path.plural === tokensPlural && path.version === 'v1')
      return { verb: verbOfTokens(request, path), kindName: 'Token', target: 'tokens', path };
    if (path.group === authorityGroup)
      return { ...AuthorityResource.route(request, path), target: 'authority', path };
    if (path.group === nodesGroup) return { ...JoinResource.route(request, path), target: 'joining', path };
    const kind = this.#kindAt(path);
    return { verb: verbOf(request, path, kind), kindName: kind.kind, target: kind, path };
  }

  /** Answers a request, or throws the BerthError that says why not. */
  async handle(request: ApiRequest, routed = this.route(request)): Promise<ApiResponse> {
    if (routed === undefined) return this.#other(request);
    const work = (): Promise<ApiResponse> => this.#routed(request, routed);
    return singleWrites.has(routed.verb) ? this.parts.freshness.inTime(work) : work();
  }

  async #routed(request: ApiRequest, { verb, target: kind, path }: Routed): Promise<ApiResponse> {
    if (kind === 'tokens') return this.#tokens.handle(request, verb, path.name);
    if (kind === 'authority') return this.#authority.handle(request, verb, path);
    if (kind === 'joining') return this.parts.joining.handle(request, verb);
    const access = authorize(request.identity, {
      verb,
      kind,
      part: path.subresource === 'status' ? 'status' : 'spec',
      ...(path.namespace === undefined ? {} : { namespace: path.namespace }),
      ...(path.name === undefined ? {} : { name: path.name }),
      ...(path.subresource === undefined ? {} : { subresource: path.subresource }),
    });
    if (!access.allowed) throw this.#forbidden(request, access.reason, kind, path);
    if (kind.keptBy === 'Server')
      return verb === 'get'
        ? this.#decisions.get(kind, request, path)
        : this.#decisions.list(kind, request, path);
    if (needsFreshness(verb, request.query)) await this.parts.freshness.catchUp();
    if (path.subresource === logSubresource) return this.parts.sessions.log(request, path);
    if (path.subresource === traceSubresource) return traceOver(this.parts.explain, kind, request, path);
    if (path.subresource === whySubresource) return explainOver(this.parts.explain, kind, request, path);
    const resources = this.#resources.get(kind);
    if (resources === undefined) throw new Error(`no resources for ${kind.kind}`);
    switch (verb) {
      case 'get':
        return resources.get(request, path);
      case 'list':
        return resources.list(request, path);
      case 'watch':
        return resources.watch(request, path);
      case 'create':
        return resources.create(request, path);
      case 'update':
        return resources.update(request, path);
      case 'patch':
      case 'apply':
        return resources.patch(request, path);
      case 'delete':
        return resources.delete(request, path);
      case 'deletecollection':
        return resources.deleteCollection(request, path);
    }
  }

  #kindAt(path: ResourcePath): KindDefinition {
    const { kinds } = this.parts;
    const kind = kinds.find(
      (candidate) => candidate.group === path.group && candidate.plural === path.plural,
    );
    if (kind === undefined || path.version !== kind.version) {
      const near = nearest(
        path.plural,
        kinds.map((candidate) => candidate.plural),
      );
      const hint = near === undefined || near === path.plural ? '' : `; did you mean ${near}?`;
      throw new BerthError(
        'NotFound',
        `the server has no resource ${path.plural} in ${path.group || 'core'}/${path.version}${hint}`,
      );
    }
    if (kind.scope === 'Cluster' && path.namespace !== undefined) {
      throw new BerthError('NotFound', `${kind.plural} belong to the cluster, not to a namespace`);
    }
    return kind;
  }

  #forbidden(request: ApiRequest, reason: string, kind: KindDefinition, path: ResourcePath): BerthError {
    const who = formatIdentity(request.identity);
    const code = request.identity.kind === 'anonymous' ? 'Unauthorized' : 'Forbidden';
    return new BerthError(code, `${who} may not do this: ${reason}`, {
      details: {
        kind: kind.plural,
        group: kind.group,
        ...(path.name === undefined ? {} : { name: path.name }),
      },
    });
  }

  // ---- what is no object ---------------------------------------------------------------------------------

  async #other(request: ApiRequest): Promise<ApiResponse> {
    const { path, method } = request;
    const access = authorize(request.identity, { verb: method === 'POST' ? 'create' : 'get', path });
    if (!access.allowed) {
      const code = request.identity.kind === 'anonymous' ? 'Unauthorized' : 'Forbidden';
      throw new BerthError(code, `${formatIdentity(request.identity)} may not do this: ${access.reason}`);
    }
    if (method === 'POST') return this.#review(request);
    if (method !== 'GET' && method !== 'HEAD')
      throw new BerthError('MethodNotAllowed', `${method} ${path}: only GET is possible here`);
    if (path === '/metrics') {
      const { metrics } = this.parts;
      return { kind: 'bytes', bytes: Buffer.from(await metrics.text()), contentType: metrics.contentType };
    }
    if (path === attentionPath) {
      const { identity } = request;
      const attention = this.parts.explain.attention(
        identity.kind === 'tenant' ? identity.tenant : undefined,
      );
      return valueResponse(200, { apiVersion: 'berth.dev/v1', kind: 'Attention', ...attention });
    }
    if (path === usagePath) return usageOver(this.parts.usage, request);
    if (path === discoveryTargetsPath) return this.#targets(request);
    const aggregated = wantsAggregatedDiscovery(request.accept);
    const found = this.#document(path, aggregated);
    if (found === undefined) throw new BerthError('NotFound', `the server has nothing at ${path}`);
    if (path === '/openapi/v2' && request.accept?.includes(openApiProtobufType)) {
      return {
        kind: 'bytes',
        bytes: openApiProtobuf(found as Record<string, unknown>),
        contentType: openApiProtobufType,
      };
    }
    const response: ApiResponse = {
      kind: 'value',
      status: 200,
      value: found,
      encoding: 'json',
      warnings: [],
    };
    if (aggregated === undefined || (path !== '/api' && path !== '/apis')) return response;
    const contentType = `application/json;g=apidiscovery.k8s.io;v=${aggregated};as=APIGroupDiscoveryList`;
    return { ...response, contentType };
  }

  /** Targets for Prometheus. A tenant sees its own, whatever it asks for. */
  #targets({ identity, query }: ApiRequest): ApiResponse {
    const of = (name: string): string | undefined => query.get(name) ?? undefined;
    const tenant = identity.kind === 'tenant' ? identity.tenant : of('tenant');
    if (identity.kind === 'tenant' && (of('tenant') ?? tenant) !== tenant)
      throw new BerthError('Forbidden', `tenant ${identity.tenant} discovers only its own targets`);
    const [workload, port] = [of('workload'), of('port')];
    const groups = prometheusTargets(this.parts.endpoints(), {
      ...(tenant !== undefined && { tenant }),
      ...(workload !== undefined && { workload }),
      ...(port !== undefined && { port }),
    });
    return valueResponse(200, groups);
  }

  #document(path: string, aggregated: 'v2' | 'v2beta1' | undefined): unknown {
    const { kinds, openapi, version, cell } = this.parts;
    switch (path) {
      case '/':
        return {
          paths: ['/api', '/apis', '/livez', '/metrics', '/openapi/v2', '/openapi/v3', '/readyz', '/version'],
        };
      case '/version': {
        // Clients compare this with their own version: it is that of the Kubernetes API we speak.
        const [major = '', minor = ''] = kubernetesVersion.split('.');
        const platform = `${process.platform}/${process.arch}`;
        return { major, minor, gitVersion: `v${kubernetesVersion}+berth.${version}`, platform, cell };
      }
      case '/api':
        return aggregated === undefined ? apiVersions() : aggregatedDiscovery(kinds, [''], aggregated);
      case '/apis':
        return aggregated === undefined
          ? apiGroupList([group])
          : aggregatedDiscovery(kinds, [group], aggregated);
      case '/api/v1':
        return resourceList(kinds, '');
      case `/apis/${group}`:
        return apiGroup(group);
      case `/apis/${group}/v1`:
        return resourceList(kinds, group);
      default:
        return openapi.get(path);
    }
  }

  async #review(request: ApiRequest): Promise<ApiResponse> {
    const body = await readBody(bodyTypeOf(request.contentType, ['json', 'yaml']), request.body);
    switch (request.path) {
      case '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews':
        return valueResponse(201, reviewAccess(this.parts.kinds, request.identity, body));
      case '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews':
        return valueResponse(201, reviewRules(this.parts.kinds, request.identity, body));
      case '/apis/authentication.k8s.io/v1/selfsubjectreviews':
        return valueResponse(201, reviewSelf(request.identity));
      default:
        throw new BerthError('MethodNotAllowed', `POST ${request.path}: not possible here`);
    }
  }
}

/**
 * A read that names no version sees everything acknowledged before it, and a write is decided on that; a read of
 * some version says itself how old it may be, and so does the next page of a list.
 */
function needsFreshness(verb: Verb, query: URLSearchParams): boolean {
  if (verb !== 'get' && verb !== 'list' && verb !== 'watch') return true;
  return !query.get('resourceVersion') && !query.get('continue');
}

function verbOfTokens({ method }: Pick<ApiRequest, 'method'>, path: ResourcePath): Verb {
  const { name, namespace, subresource } = path;
  const isThere = namespace === undefined && subresource === undefined;
  const verbs: Readonly<Record<string, Verb>> =
    name === undefined
      ? { GET: 'list', HEAD: 'list', POST: 'create' }
      : { GET: 'get', HEAD: 'get', DELETE: 'delete' };
  if (!isThere) throw new BerthError('NotFound', 'tokens belong to the cluster and have no subresources');
  const verb = Object.hasOwn(verbs, method) ? verbs[method] : undefined;
  if (verb === undefined) {
    const target = name === undefined ? 'tokens' : 'a token';
    throw new BerthError(
      'MethodNotAllowed',
      `${method} is not possible on ${target}; allowed are ${Object.keys(verbs).join(', ')}`,
    );
  }
  return verb;
}

/** The verb of a request, after Kubernetes' own table of methods and paths. */
function verbOf(
  { method, query, contentType }: Pick<ApiRequest, 'method' | 'query' | 'contentType'>,
  { name, namespace, subresource, plural }: ResourcePath,
  kind: KindDefinition,
): Verb {
  const verb = ((): Verb | undefined => {
    switch (method) {
      case 'GET':
      case 'HEAD':
        if (name === undefined) return isTrue(query, 'watch') ? 'watch' : 'list';
        return 'get';
      case 'POST':
        return name === undefined && (kind.scope === 'Cluster' || namespace !== undefined)
          ? 'create'
          : undefined;
      case 'PUT':
        return name === undefined ? undefined : 'update';
      case 'PATCH':
        if (name === undefined) return undefined;
        return contentType?.startsWith('application/apply-patch') ? 'apply' : 'patch';
      case 'DELETE':
        if (subresource !== undefined) return undefined;
        return name === undefined ? 'deletecollection' : 'delete';
      default:
        return undefined;
    }
  })();
  const isServed =
    subresource === undefined
      ? verb !== undefined && verbsOf(kind).includes(verb === 'apply' ? 'patch' : verb)
      : verb !== undefined;
  const isRead = verb === 'get' || verb === 'list' || verb === 'watch';
  if (!isRead && isRecordView(kind.kind)) {
    throw new BerthError(
      'MethodNotAllowed',
      `${method} is not possible on ${plural}: they show what the authority has recorded and are not written as objects`,
    );
  }
  if (kind.keptBy === 'Server' && !isServed) {
    const what = verb === 'watch' ? 'a watch' : method;
    throw new BerthError(
      'MethodNotAllowed',
      `${what} is not possible on ${plural}: servers keep them for a while, to be got and listed, and nobody else writes them`,
    );
  }
  if (verb === undefined || !isServed) {
    throw new BerthError(
      'MethodNotAllowed',
      `${method} is not possible on ${plural}${subresource === undefined ? '' : `/${subresource}`}`,
    );
  }
  const isKnown =
    subresource === undefined ||
    (subresource === 'status' && kind.fields['status'] !== undefined) ||
    (subresource === 'scale' && kind.scale !== undefined) ||
    ((subresource === whySubresource || subresource === traceSubresource) && isExplained(kind)) ||
    (subresource === logSubresource && hasSessions(kind));
  if (subresource === execSubresource && hasSessions(kind))
    throw new BerthError(
      'BadRequest',
      `${plural}/exec is a connection that is upgraded to ${sessionProtocol}`,
    );
  if (!isKnown) throw new BerthError('NotFound', `${plural} have no subresource ${subresource}`);
  if ((subresource === whySubresource || subresource === logSubresource) && verb !== 'get')
    throw new BerthError(
      'MethodNotAllowed',
      `${method} is not possible on ${plural}/${subresource}: it can be read`,
    );
  return verb;
}
