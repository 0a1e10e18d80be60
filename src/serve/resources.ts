import type { Env } from '../env/env.js';
import { BerthError, isBerthError } from '../model/errors.js';
import { apiVersionOf, type KindDefinition } from '../model/kind.js';
import type { BerthObject } from '../model/object.js';
import type { ObjectKey } from '../objects/keys.js';
import type { ObjectCache } from '../objects/object-cache.js';
import type { ObjectLister } from '../objects/object-list.js';
import type { ObjectStore, WriteOptions, Written } from '../objects/object-store.js';
import { initialObjects } from '../objects/object-watch.js';
import { patched } from '../objects/patch.js';
import { type ApiRequest, type ApiResponse, valueResponse } from './api-request.js';
import { namespaceOf } from './namespace-view.js';
import { negotiate, type Wanted } from './negotiate.js';
import { partlyDone } from './partly-done.js';
import { ResourceAnswers, versionsOf } from './resource-answers.js';
import { bodyTypeOf, readBody } from './read-body.js';
import {
  fieldManagerOf,
  fieldValidationOf,
  isDryRun,
  isTrue,
  propagationOf,
  selectionOf,
  wholeNumber,
} from './request-options.js';
import type { ResourcePath } from './resource-path.js';
import { scaled, scaleOf } from './scale.js';
import { successStatus } from './status.js';
import { watchLines } from './watch-lines.js';

export interface ResourceParts {
  readonly objects: ObjectStore;
  readonly lister: ObjectLister;
  readonly cache: ObjectCache;
  readonly env: Env;
  readonly tenantKind: KindDefinition;
}

// A client that names no time gets a watch of half an hour or so, not all ending together.
const watchMsMin = 30 * 60_000;
// A client may know of changes that this server has not seen yet, but not of this many.
const versionsAheadMax = 1_000_000;
// How long a read waits for the cache to reach the version a client asks for.
const freshnessMsMax = 3_000;

/** Objects of one kind as REST: each verb, each form of answer. */
export class Resources {
  // The kind whose objects are stored: a Namespace is a view of a Tenant.
  readonly #source: KindDefinition;
  readonly #view: (object: BerthObject) => BerthObject;
  readonly #answers: ResourceAnswers;

  constructor(
    private readonly parts: ResourceParts,
    private readonly kind: KindDefinition,
  ) {
    const isNamespace = kind.group === '' && kind.kind === 'Namespace';
    this.#source = isNamespace ? parts.tenantKind : kind;
    this.#view = isNamespace ? namespaceOf : (object) => object;
    this.#answers = new ResourceAnswers(parts.env, kind, this.#view);
  }

  async get(request: ApiRequest, path: ResourcePath): Promise<ApiResponse> {
    const wanted = negotiate(request.accept);
    await this.#waitForVersion(request);
    const object = this.#view(this.parts.objects.get(this.#source, this.#key(path)));
    if (path.subresource === 'scale') return valueResponse(200, scaleOf(this.kind, object), wanted.encoding);
    return this.#answers.one(200, object, wanted, request);
  }

  async list(request: ApiRequest, path: ResourcePath): Promise<ApiResponse> {
    const { query } = request;
    const wanted = negotiate(request.accept);
    await this.#waitForVersion(request);
    const limit = wholeNumber(query, 'limit');
    const continueToken = query.get('continue');
    const matches = selectionOf(this.kind, query);
    const list = await this.parts.lister.list(this.#source, {
      ...(path.namespace === undefined ? {} : { namespace: path.namespace }),
      ...(matches === undefined ? {} : { matches: (object) => matches(this.#view(object)) }),
      ...(limit === undefined || limit === 0 ? {} : { limit }),
      ...(continueToken === null || continueToken === '' ? {} : { continueToken }),
    });
    return this.#answers.list(list, wanted, request);
  }

  async watch(request: ApiRequest, path: ResourcePath): Promise<ApiResponse> {
    const { query } = request;
    const wanted = negotiate(request.accept);
    const timeoutSeconds = wholeNumber(query, 'timeoutSeconds');
    const matches = selectionOf(this.kind, query);
    const { cache, env } = this.parts;
    const sendsInitial = isTrue(query, 'sendInitialEvents');
    const asked = wholeNumber(query, 'resourceVersion') ?? 0;
    if (sendsInitial) await this.#waitForVersion(request);
    // No version, or 0, means: begin with what is there now.
    const isFromNow = sendsInitial || asked === 0;
    const after = isFromNow ? cache.version : asked;
    if (after > cache.version + versionsAheadMax)
      throw new BerthError('FutureRevision', `resourceVersion ${asked} lies in the future`);
    const isSeen = (object: BerthObject): boolean => matches === undefined || matches(this.#view(object));
    const seen = { ...(path.namespace !== undefined && { namespace: path.namespace }), matches: isSeen };
    const initial = isFromNow ? initialObjects(cache, this.#source, seen) : undefined;
    const timeoutMs =
      (timeoutSeconds ?? 0) > 0 ? (timeoutSeconds ?? 0) * 1000 : watchMsMin + env.random.integer(watchMsMin);
    return {
      kind: 'lines',
      lines: watchLines(
        { cache, env },
        {
          source: this.#source,
          apiVersion: wanted.as === 'Table' ? 'meta.k8s.io/v1' : apiVersionOf(this.kind),
          shownKind: wanted.as === 'Table' ? 'Table' : this.kind.kind,
          namespace: path.namespace,
          matches: isSeen,
          render: this.#answers.eventRenderer(wanted, request),
          after,
          initial,
          initialIsBookmarked: sendsInitial && isTrue(query, 'allowWatchBookmarks'),
          bookmarks: isTrue(query, 'allowWatchBookmarks'),
          timeoutMs,
          signal: request.signal,
        },
      ),
    };
  }

  async create(request: ApiRequest, path: ResourcePath): Promise<ApiResponse> {
    const wanted = negotiate(request.accept);
    const object = this.#objectIn(
      await readBody(bodyTypeOf(request.contentType, ['json', 'yaml']), request.body),
      path,
    );
    const written = await this.parts.objects.create(
      this.kind,
      path.namespace,
      object,
      this.#writeOptions(request),
    );
    return this.#answers.written(201, written, wanted, request);
  }

  async update(request: ApiRequest, path: ResourcePath): Promise<ApiResponse> {
    const wanted = negotiate(request.accept);
    const body = await readBody(bodyTypeOf(request.contentType, ['json', 'yaml']), request.body);
    const options = this.#writeOptions(request);
    const key = this.#key(path);
    if (path.subresource === 'scale') {
      const written = await this.parts.objects.modify(
        this.kind,
        key,
        'spec',
        (live) => scaled(this.kind, live, body),
        options,
      );
      return this.#scaleAnswer(written, wanted);
    }
    const part = path.subresource === 'status' ? 'status' : 'spec';
    const written = await this.parts.objects.update(
      this.kind,
      key,
      this.#objectIn(body, path),
      part,
      options,
    );
    return this.#answers.written(200, written, wanted, request);
  }

  async patch(request: ApiRequest, path: ResourcePath): Promise<ApiResponse> {
    const wanted = negotiate(request.accept);
    const type = bodyTypeOf(request.contentType, ['merge-patch', 'json-patch', 'apply-patch']);
    const body = await readBody(type, request.body);
    const options = this.#writeOptions(request);
    const key = this.#key(path);
    if (type === 'apply-patch') return this.#apply(request, path, body, wanted);
    const patchType = type === 'merge-patch' ? 'merge' : 'json';
    if (path.subresource === 'scale') {
      const change = (live: BerthObject): BerthObject =>
        scaled(this.kind, live, patched(patchType, scaleOf(this.kind, live), body));
      const written = await this.parts.objects.modify(this.kind, key, 'spec', change, options);
      return this.#scaleAnswer(written, wanted);
    }
    const change = (live: BerthObject): BerthObject => {
      const next = this.#objectIn(patched(patchType, live, body), path);
      const isVersioned = next.metadata.resourceVersion !== live.metadata.resourceVersion;
      // A patch is made of what is live, so it holds for any version unless it names one itself.
      return isVersioned ? next : { ...next, metadata: { ...next.metadata, resourceVersion: '' } };
    };
    const part = path.subresource === 'status' ? 'status' : 'spec';
    const written = await this.parts.objects.modify(this.kind, key, part, change, options);
    return this.#answers.written(200, written, wanted, request);
  }

  async delete(request: ApiRequest, path: ResourcePath): Promise<ApiResponse> {
    const options = await this.#deleteOptions(request);
    const deleted = await this.parts.objects.delete(this.kind, this.#key(path), options);
    const { name, uid } = deleted.object.metadata;
    const value = deleted.isGone
      ? successStatus({ name, group: this.kind.group, kind: this.kind.plural, uid })
      : deleted.object;
    return {
      kind: 'value',
      status: 200,
      value,
      encoding: 'json',
      warnings: [],
      versions: versionsOf(deleted),
    };
  }

  async deleteCollection(request: ApiRequest, path: ResourcePath): Promise<ApiResponse> {
    const { dryRun, propagation } = await this.#deleteOptions(request);
    const matches = selectionOf(this.kind, request.query);
    const list = await this.parts.lister.list(this.kind, {
      ...(path.namespace === undefined ? {} : { namespace: path.namespace }),
      ...(matches === undefined ? {} : { matches }),
    });
    let deleted = 0;
    for (const { metadata } of list.items) {
      const key = { kind: this.kind.kind, namespace: metadata.namespace, name: metadata.name };
      try {
        await this.parts.objects.delete(this.kind, key, {
          ...(dryRun === undefined ? {} : { dryRun }),
          ...(propagation === undefined ? {} : { propagation }),
          preconditions: { uid: metadata.uid },
        });
        if (dryRun !== true) deleted += 1;
      } catch (error) {
        if (!isBerthError(error, 'NotFound')) throw partlyDone(error, deleted, list.items.length);
      }
    }
    return this.#answers.list(list, negotiate(request.accept), request);
  }

  #scaleAnswer(written: Written, { encoding }: Wanted): ApiResponse {
    const { object, warnings } = written;
    const value = scaleOf(this.kind, object);
    return { kind: 'value', status: 200, value, encoding, warnings, versions: versionsOf(written) };
  }

  // ---- reading requests ----------------------------------------------------------------------------------

  #key(path: ResourcePath): ObjectKey {
    return { kind: this.#source.kind, namespace: path.namespace, name: path.name ?? '' };
  }

  /** The body as an object of this kind and this place; what it says of itself must agree with the path. */
  #objectIn(body: unknown, path: ResourcePath): BerthObject {
    if (typeof body !== 'object' || body === null || Array.isArray(body)) {
      throw new BerthError('BadRequest', `the body is not an object of kind ${this.kind.kind}`);
    }
    const {
      apiVersion = apiVersionOf(this.kind),
      kind = this.kind.kind,
      metadata = {},
      ...rest
    } = body as Record<string, unknown>;
    const agree = (name: string, value: unknown, expected: string | undefined): void => {
      if (value !== undefined && value !== '' && expected !== undefined && value !== expected) {
        throw new BerthError(
          'BadRequest',
          `${name} is ${JSON.stringify(value)} in the body and ${JSON.stringify(expected)} in the path`,
        );
      }
    };
    agree('apiVersion', apiVersion, apiVersionOf(this.kind));
    agree('kind', kind, this.kind.kind);
    if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata)) {
      throw new BerthError('BadRequest', 'metadata is not an object');
    }
    const meta = metadata as Record<string, unknown>;
    agree('metadata.namespace', meta['namespace'], path.namespace);
    agree('metadata.name', meta['name'], path.name);
    return {
      apiVersion: apiVersionOf(this.kind),
      kind: this.kind.kind,
      metadata: {
        ...meta,
        name: meta['name'] ?? path.name ?? '',
        ...(path.namespace === undefined ? {} : { namespace: path.namespace }),
      } as BerthObject['metadata'],
      ...rest,
    };
  }

  #writeOptions({ query, userAgent, identity }: ApiRequest): WriteOptions {
    return {
      author: identity.kind === 'controller' ? 'controller' : 'client',
      dryRun: isDryRun(query),
      fieldValidation: fieldValidationOf(query),
      manager: fieldManagerOf(query, userAgent),
    };
  }

  async #deleteOptions(request: ApiRequest): Promise<Parameters<ObjectStore['delete']>[2] & object> {
    const body =
      request.body.length === 0
        ? undefined
        : await readBody(bodyTypeOf(request.contentType, ['json', 'yaml']), request.body);
    const options = (body ?? {}) as {
      preconditions?: { uid?: unknown; resourceVersion?: unknown };
      dryRun?: unknown;
    };
    const propagation = propagationOf(request.query, body);
    const { uid, resourceVersion } = options.preconditions ?? {};
    return {
      dryRun: isDryRun(request.query) || (Array.isArray(options.dryRun) && options.dryRun.includes('All')),
      ...(propagation === undefined ? {} : { propagation }),
      preconditions: {
        ...(typeof uid === 'string' ? { uid } : {}),
        ...(typeof resourceVersion === 'string' ? { resourceVersion } : {}),
      },
    };
  }

  /** Waits until the cache shows the version that the client has seen already. */
  async #waitForVersion({ query, signal }: ApiRequest): Promise<void> {
    const asked = wholeNumber(query, 'resourceVersion');
    const { cache, env } = this.parts;
    if (asked === undefined || asked <= cache.version) return;
    const isExact = query.get('resourceVersionMatch') === 'Exact';
    const tooLong = new AbortController();
    const timer = env.after(freshnessMsMax, () => tooLong.abort());
    try {
      await cache.shows(asked, AbortSignal.any([signal, tooLong.signal]));
    } catch {
      throw new BerthError(
        'UnknownOutcome',
        `resourceVersion ${asked} is newer than what this server has seen (${cache.version})${isExact ? ', and nothing older will do' : ''}`,
        {
          details: {
            causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version', field: '' }],
            retryAfterSeconds: 1,
          },
        },
      );
    } finally {
      timer.cancel();
    }
  }

  async #apply(request: ApiRequest, path: ResourcePath, body: unknown, wanted: Wanted): Promise<ApiResponse> {
    if (!this.kind.isApplied) {
      throw new BerthError(
        'MethodNotAllowed',
        `${this.kind.plural} are not written by users and take no server-side apply`,
      );
    }
    const manager = request.query.get('fieldManager');
    if (manager === null || manager === '') {
      throw new BerthError('BadRequest', 'server-side apply needs the query parameter fieldManager');
    }
    if (path.subresource !== undefined) {
      throw new BerthError(
        'MethodNotAllowed',
        `${path.subresource} takes no server-side apply; patch or replace it`,
      );
    }
    const { written, isNew } = await this.parts.objects.apply(
      this.kind,
      this.#key(path),
      this.#objectIn(body, path),
      {
        ...this.#writeOptions(request),
        manager: fieldManagerOf(request.query, request.userAgent),
        force: isTrue(request.query, 'force'),
      },
    );
    return this.#answers.written(isNew ? 201 : 200, written, wanted, request);
  }
}
