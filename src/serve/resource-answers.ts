import type { Env } from '../env/env.js';
import { wallMs } from '../env/instant.js';
import { BerthError } from '../model/errors.js';
import { apiVersionOf, type KindDefinition } from '../model/kind.js';
import type { BerthObject } from '../model/object.js';
import type { ObjectList } from '../objects/object-list.js';
import type { Written } from '../objects/object-store.js';
import { type ApiRequest, type ApiResponse, valueResponse, type WrittenVersions } from './api-request.js';
import type { Wanted } from './negotiate.js';
import { type IncludeObject, tableOf } from './table.js';

/** Objects in the form a client asked for: themselves, tables, or their metadata alone. */
export class ResourceAnswers {
  constructor(
    private readonly env: Env,
    private readonly kind: KindDefinition,
    /** What the kind shows of a stored object, which may be of another kind. */
    private readonly view: (object: BerthObject) => BerthObject,
  ) {}

  written(status: number, written: Written, wanted: Wanted, request: ApiRequest): ApiResponse {
    const { object, warnings, json } = written;
    if (json !== undefined && wanted.as === 'Object' && wanted.encoding === 'json')
      return { kind: 'value', status, value: object, json, encoding: 'json', warnings };
    const answer = this.one(status, object, wanted, request);
    return answer.kind === 'value' ? { ...answer, warnings, versions: versionsOf(written) } : answer;
  }

  one(status: number, object: BerthObject, wanted: Wanted, request: ApiRequest): ApiResponse {
    switch (wanted.as) {
      case 'Object':
        return valueResponse(status, object, wanted.encoding);
      case 'Table': {
        const metadata = { resourceVersion: object.metadata.resourceVersion };
        return valueResponse(status, this.#table([object], request, metadata), wanted.encoding);
      }
      case 'PartialObjectMetadata':
      case 'PartialObjectMetadataList':
        return valueResponse(status, partial(object), wanted.encoding);
    }
  }

  list(list: ObjectList, wanted: Wanted, request: ApiRequest): ApiResponse {
    const items = list.items.map(this.view);
    const metadata = {
      resourceVersion: String(list.version),
      ...(list.continueToken === undefined ? {} : { continue: list.continueToken }),
      ...(list.remaining === undefined ? {} : { remainingItemCount: list.remaining }),
    };
    switch (wanted.as) {
      case 'Table':
        return valueResponse(200, this.#table(items, request, metadata), wanted.encoding);
      case 'PartialObjectMetadata':
      case 'PartialObjectMetadataList':
        return valueResponse(
          200,
          {
            kind: 'PartialObjectMetadataList',
            apiVersion: 'meta.k8s.io/v1',
            metadata,
            items: items.map(partial),
          },
          wanted.encoding,
        );
      case 'Object':
        return valueResponse(
          200,
          { kind: `${this.kind.kind}List`, apiVersion: apiVersionOf(this.kind), metadata, items },
          wanted.encoding,
        );
    }
  }

  eventRenderer(wanted: Wanted, request: ApiRequest): (object: BerthObject) => unknown {
    if (wanted.as === 'Object') return this.view;
    if (wanted.as !== 'Table') return (object) => partial(this.view(object));
    let isFirst = true;
    return (object) => {
      // The columns are told once, at the start of the stream.
      const table = this.#table(
        [this.view(object)],
        request,
        { resourceVersion: object.metadata.resourceVersion },
        isFirst,
      );
      isFirst = false;
      return table;
    };
  }

  #table(
    objects: readonly BerthObject[],
    { query }: ApiRequest,
    metadata: Record<string, unknown>,
    withColumns = true,
  ): object {
    const include = query.get('includeObject') ?? 'Metadata';
    if (include !== 'None' && include !== 'Metadata' && include !== 'Object') {
      throw new BerthError(
        'BadRequest',
        `query parameter includeObject=${JSON.stringify(include)}: allowed: None, Metadata, Object`,
      );
    }
    const nowMs = wallMs(this.env.clock.wall());
    return tableOf(this.kind, objects, {
      include: include satisfies IncludeObject,
      nowMs,
      metadata,
      withColumns,
    });
  }
}

/** What a write of an object did to its resourceVersion. */
export const versionsOf = ({
  object,
  versionBefore,
}: Pick<Written, 'object' | 'versionBefore'>): WrittenVersions => ({
  before: versionBefore,
  after: object.metadata.resourceVersion,
});

const partial = (object: BerthObject): object => ({
  kind: 'PartialObjectMetadata',
  apiVersion: 'meta.k8s.io/v1',
  metadata: object.metadata,
});
