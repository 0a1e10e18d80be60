import type { Env } from '../env/env.js';
import { BerthError } from '../model/errors.js';
import type { Node } from '../model/kinds/node.js';
import type { Attest, Authority, Objects, Outcome } from '../model/ports.js';
import { type ApiRequest, type ApiResponse, valueResponse } from './api-request.js';
import { formatIdentity } from './identity/identity.js';
import { bodyTypeOf, readBody } from './read-body.js';

export interface AttestationParts {
  readonly objects: Pick<Objects, 'get'>;
  readonly env: Env;
}

const forSecondsMax = 7 * 24 * 3_600;
const reasonMax = 1_024;

/** Records a person's word that what ran on a node has stopped: who, why, about which epoch, for how long. */
export async function attestNode(
  parts: AttestationParts,
  authority: Pick<Authority, 'attest'>,
  request: ApiRequest,
  node: string,
): Promise<ApiResponse> {
  const body: unknown = await readBody(bodyTypeOf(request.contentType, ['json']), request.body);
  const { reason, forSeconds } = wordIn(body);
  const input = { ...commonOf(parts, request, node), reason, forSeconds };
  return answer(await authority.attest(input), input);
}

/** Takes such a word back. What was released on it stays released. */
export async function withdrawAttestation(
  parts: AttestationParts,
  authority: Pick<Authority, 'attest'>,
  request: ApiRequest,
  node: string,
): Promise<ApiResponse> {
  const common = commonOf(parts, request, node);
  const input = { ...common, reason: 'Withdrawn', forSeconds: 0, isOver: true };
  return answer(await authority.attest(input), input);
}

function commonOf({ objects, env }: AttestationParts, { identity }: ApiRequest, name: string) {
  const node = objects.get<Node>('Node', undefined, name);
  if (node === undefined) throw new BerthError('NotFound', `there is no node ${JSON.stringify(name)}`);
  const nodeEpoch = node.status?.epoch;
  if (nodeEpoch === undefined)
    throw new BerthError('Conflict', `node ${name} has never registered: nothing can have run there`);
  return {
    actor: { kind: 'operator', name: formatIdentity(identity) } as const,
    ...{ node: name, nodeEpoch, operation: `attest/${env.uuid()}` },
  };
}

/** A parsed boundary. */
function wordIn(body: unknown): { readonly reason: string; readonly forSeconds: number } {
  const { reason, forSeconds } = (typeof body === 'object' && body !== null ? body : {}) as Readonly<
    Record<string, unknown>
  >;
  if (typeof reason !== 'string' || reason.trim() === '' || reason.length > reasonMax)
    throw new BerthError('Invalid', `reason: say how it is known, in at most ${reasonMax} characters`);
  if (
    typeof forSeconds !== 'number' ||
    !Number.isInteger(forSeconds) ||
    forSeconds < 1 ||
    forSeconds > forSecondsMax
  )
    throw new BerthError('Invalid', `forSeconds: a whole number from 1 to ${forSecondsMax}`);
  return { reason, forSeconds };
}

function answer(outcome: Outcome<undefined>, { node, nodeEpoch, ...input }: Attest): ApiResponse {
  if (outcome.kind === 'Rejected') throw new BerthError('Conflict', outcome.message);
  if (outcome.kind === 'UnknownOutcome') throw new BerthError('UnknownOutcome', outcome.message);
  const { actor, reason, forSeconds, isOver = false } = input;
  return valueResponse(200, {
    ...{ kind: 'Attestation', apiVersion: 'authority.berth.dev/v1', node, nodeEpoch },
    ...{ by: actor.name, reason, forSeconds, isOver },
  });
}
