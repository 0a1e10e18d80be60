import type { BerthClient } from '../client/client.js';
import { pathOf } from '../client/kind-path.js';
import type { DecisionQuery, Decisions } from '../model/decisions.js';
import { isBerthError } from '../model/errors.js';
import type { Decision } from '../model/kinds/decision.js';
import { keptHereParameter } from '../serve/decision-resource.js';

const kindPath = (namespace: string | undefined) => ({
  group: 'berth.dev',
  version: 'v1',
  plural: 'decisions',
  namespace,
});

interface Page {
  readonly items: readonly Decision[];
  readonly metadata: { readonly continue?: string; readonly remainingItemCount?: number };
}

/** The decisions that another server keeps itself, over its API. */
export const peerDecisions = (connected: () => Promise<BerthClient>): Pick<Decisions, 'get' | 'list'> => ({
  get: async (tenant, name) => {
    const client = await connected();
    try {
      const query = new URLSearchParams({ [keptHereParameter]: 'true' });
      return (await client.read(pathOf(kindPath(tenant), name), { query })) as Decision;
    } catch (error) {
      if (isBerthError(error, 'NotFound')) return undefined;
      throw error;
    }
  },
  list: async (query) => {
    const client = await connected();
    const page = (await client.read(pathOf(kindPath(query.tenant)), { query: parametersOf(query) })) as Page;
    const { continue: token, remainingItemCount } = page.metadata;
    return {
      items: page.items,
      ...(token !== undefined && { continue: token }),
      ...(remainingItemCount !== undefined && { remaining: remainingItemCount }),
      unanswered: [],
    };
  },
});

function parametersOf({ workload, replica, node, limit, continue: token }: DecisionQuery): URLSearchParams {
  const selected = {
    'spec.workload': workload,
    'spec.choices.replica': replica,
    'spec.choices.node': node,
  };
  const selector = Object.entries(selected).flatMap(([field, value]) =>
    value === undefined ? [] : [`${field}=${value.replaceAll(/[\\,=]/g, '\\$&')}`],
  );
  return new URLSearchParams({
    [keptHereParameter]: 'true',
    limit: String(limit),
    ...(selector.length > 0 && { fieldSelector: selector.join(',') }),
    ...(token !== undefined && { continue: token }),
  });
}
