import type { Env } from '../env/env.js';
import type { DecisionQuery, Decisions } from '../model/decisions.js';
import { BerthError } from '../model/errors.js';
import { parseFieldSelector } from '../model/field-selector.js';
import type { KindDefinition } from '../model/kind.js';
import type { Decision } from '../model/kinds/decision.js';
import type { ObjectCache } from '../objects/object-cache.js';
import type { ApiRequest, ApiResponse } from './api-request.js';
import { negotiate } from './negotiate.js';
import { isTrue, selectableBy, selectionOf, wholeNumber } from './request-options.js';
import { ResourceAnswers } from './resource-answers.js';
import type { ResourcePath } from './resource-path.js';

export interface DecisionParts {
  /** Those of all servers of the cell; of this one alone until it knows the others. */
  readonly all: () => Pick<Decisions, 'get' | 'list'>;
  /** Those that this server keeps itself: all that another server is told when it asks. */
  readonly here: Pick<Decisions, 'get' | 'list'>;
}

/** Asks for what this server keeps itself, so that servers do not ask each other in circles. */
export const keptHereParameter = 'keptHere';

const pageUsual = 500;
// Decisions are large: past this many a list goes on with its continue token, whatever limit was asked for.
const pageMax = 1_000;
// A selector that finds little ends a page early rather than reading everything for it; its token goes on.
const readsPerPageMax = 20;

/** Decisions as REST: got by name and listed, from this server and the others. */
export class DecisionResource {
  constructor(
    private readonly decisions: DecisionParts,
    private readonly parts: { readonly env: Env; readonly cache: Pick<ObjectCache, 'version'> },
  ) {}

  async get(
    kind: KindDefinition,
    request: ApiRequest,
    { namespace, name }: ResourcePath,
  ): Promise<ApiResponse> {
    const wanted = negotiate(request.accept);
    if (namespace === undefined || name === undefined)
      throw new BerthError('NotFound', `a decision is asked for by its namespace and name`);
    const found = await this.#asked(request).get(namespace, name);
    if (found === undefined)
      throw new BerthError('NotFound', `decision ${namespace}/${name} is not kept, or not any more`, {
        details: { kind: kind.plural, group: kind.group, name },
      });
    return this.#answers(kind).one(200, found, wanted, request);
  }

  async list(kind: KindDefinition, request: ApiRequest, path: ResourcePath): Promise<ApiResponse> {
    const { query } = request;
    const wanted = negotiate(request.accept);
    const asked = this.#asked(request);
    const limit = Math.min(wholeNumber(query, 'limit') || pageUsual, pageMax);
    const matches = selectionOf(kind, query);
    const selected = selectedIn(kind, path, query);
    const items: Decision[] = [];
    const unanswered = new Map<string, string>();
    let token = query.get('continue') || undefined;
    let remaining: number | undefined;
    for (let reads = 0; reads < readsPerPageMax; reads += 1) {
      const page = await asked.list({
        ...selected,
        limit: limit - items.length,
        ...(token !== undefined && { continue: token }),
      });
      items.push(...(matches === undefined ? page.items : page.items.filter(matches)));
      for (const { server, message } of page.unanswered) unanswered.set(server, message);
      token = page.continue;
      remaining = matches === undefined ? page.remaining : undefined;
      if (token === undefined || items.length >= limit) break;
    }
    const { version } = this.parts.cache;
    const answer = this.#answers(kind).list(
      { items, version, continueToken: token, remaining },
      wanted,
      request,
    );
    const warnings = [...unanswered].map(
      ([server, message]) => `the decisions of server ${server} are missing: ${message}`,
    );
    return answer.kind === 'value' ? { ...answer, warnings } : answer;
  }

  #answers(kind: KindDefinition): ResourceAnswers {
    return new ResourceAnswers(this.parts.env, kind, (object) => object);
  }

  #asked({ query }: ApiRequest): Pick<Decisions, 'get' | 'list'> {
    return isTrue(query, keptHereParameter) ? this.decisions.here : this.decisions.all();
  }
}

const queryFields: Readonly<Record<string, 'tenant' | 'workload' | 'replica' | 'node'>> = {
  'metadata.namespace': 'tenant',
  'spec.workload': 'workload',
  'spec.choices.replica': 'replica',
  'spec.choices.node': 'node',
};

/** What of a selector the log can look up. The whole of it is compared with what is found in any case. */
function selectedIn(
  kind: KindDefinition,
  { namespace }: ResourcePath,
  query: URLSearchParams,
): Pick<DecisionQuery, 'tenant' | 'workload' | 'replica' | 'node'> {
  const found: Partial<Record<'tenant' | 'workload' | 'replica' | 'node', string>> = {};
  for (const { field, isEqual, value } of parseFieldSelector(
    query.get('fieldSelector') ?? '',
    selectableBy(kind),
  )) {
    const name = queryFields[field];
    if (name !== undefined && isEqual) found[name] = value;
  }
  return { ...found, ...(namespace !== undefined && { tenant: namespace }) };
}
