import {
  type Explain,
  type ExplainTarget,
  type ExplainedKind,
  explainedKinds,
} from '../model/explanation.js';
import { BerthError } from '../model/errors.js';
import type { KindDefinition } from '../model/kind.js';
import { type ApiRequest, type ApiResponse, valueResponse } from './api-request.js';
import { negotiate } from './negotiate.js';
import type { ResourcePath } from './resource-path.js';

/** The subresource that answers why: …/workloads/NAME/why, and with ?node=N what speaks against that node. */
export const whySubresource = 'why';

/** The one that tells what happened: …/replicas/NAME/trace. */
export const traceSubresource = 'trace';

const explainedKindOf = ({ kind }: KindDefinition): ExplainedKind | undefined =>
  explainedKinds.find((explained) => explained === kind);

export const isExplained = (kind: KindDefinition): boolean => explainedKindOf(kind) !== undefined;

function targetOf(kind: KindDefinition, { namespace, name = '' }: ResourcePath): ExplainTarget {
  const explained = explainedKindOf(kind);
  if (explained === undefined) throw new Error(`${kind.kind} is not explained`);
  return { kind: explained, name, ...(namespace !== undefined && { tenant: namespace }) };
}

/** Answers why over the API. Whoever may read the object may ask; tenants are told of their own decisions alone. */
export async function explainOver(
  explain: Explain,
  kind: KindDefinition,
  request: ApiRequest,
  path: ResourcePath,
): Promise<ApiResponse> {
  const target = targetOf(kind, path);
  const { identity, query } = request;
  const node = query.get('node');
  if (node === '') throw new BerthError('BadRequest', 'node is empty; allowed is the name of a node');
  const answer =
    node === null
      ? await explain.why(target, identity.kind === 'tenant' ? identity.tenant : undefined)
      : await explain.whyNot(target, node);
  const named = node === null ? 'Explanation' : 'NodeVerdicts';
  const { encoding } = negotiate(request.accept);
  return valueResponse(200, { apiVersion: 'berth.dev/v1', kind: named, ...answer }, encoding);
}

/** Tells what happened to an object. Whoever may read it may ask. */
export async function traceOver(
  explain: Explain,
  kind: KindDefinition,
  request: ApiRequest,
  path: ResourcePath,
): Promise<ApiResponse> {
  const target = targetOf(kind, path);
  const { identity } = request;
  const trace = await explain.trace(target, identity.kind === 'tenant' ? identity.tenant : undefined);
  const { encoding } = negotiate(request.accept);
  return valueResponse(200, { apiVersion: 'berth.dev/v1', kind: 'Trace', target, ...trace }, encoding);
}
