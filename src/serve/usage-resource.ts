import { BerthError } from '../model/errors.js';
import { knownHereParameter, type Usage } from '../model/usage.js';
import { type ApiRequest, type ApiResponse, valueResponse } from './api-request.js';
import { isTrue } from './request-options.js';

export interface UsageParts {
  /** Of all nodes of the cell. */
  readonly all: Usage;
  /** Of those that are connected to this server: all that another server is told when it asks. */
  readonly here: Usage;
}

/** What replicas use. A tenant sees its own, whatever it asks for. */
export async function usageOver(
  usage: UsageParts,
  { identity, query }: Pick<ApiRequest, 'identity' | 'query'>,
): Promise<ApiResponse> {
  const asked = query.get('namespace') ?? undefined;
  if (identity.kind === 'tenant' && (asked ?? identity.tenant) !== identity.tenant)
    throw new BerthError('Forbidden', `tenant ${identity.tenant} sees only what its own replicas use`);
  const source = isTrue(query, knownHereParameter) ? usage.here : usage.all;
  const page = await source.list(identity.kind === 'tenant' ? identity.tenant : asked);
  return valueResponse(200, { apiVersion: 'berth.dev/v1', kind: 'Usage', ...page });
}
