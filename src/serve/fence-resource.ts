import type { Env } from '../env/env.js';
import { BerthError } from '../model/errors.js';
import { fenceContract } from '../model/fence-contract.js';
import type { Authority } from '../model/ports.js';
import type { FenceRecord } from '../model/records.js';
import { type ApiRequest, type ApiResponse, valueResponse } from './api-request.js';
import { formatIdentity } from './identity/identity.js';
import { bodyTypeOf, readBody } from './read-body.js';

export interface FenceParts {
  /** The fence of the cell as the cache shows it. */
  readonly now: () => FenceRecord & { readonly windowSecondsNext?: number };
  readonly env: Env;
}

const names = Object.keys(fenceContract) as (keyof FenceRecord)[];

/** What is permitted with each renewal, and how long a release waits. */
export const showFence = ({ now }: FenceParts): ApiResponse => {
  const fence = now();
  return valueResponse(200, {
    ...{ kind: 'Fence', apiVersion: 'authority.berth.dev/v1' },
    ...Object.fromEntries(names.map((name) => [name, fence[name]])),
    ...(fence.windowSecondsNext !== undefined && { windowSecondsNext: fence.windowSecondsNext }),
  });
};

/** Changes the values that are given; the others stay. */
export async function setFence(
  { now, env }: FenceParts,
  authority: Pick<Authority, 'setFence'>,
  request: ApiRequest,
): Promise<ApiResponse> {
  const given: unknown = await readBody(bodyTypeOf(request.contentType, ['json']), request.body);
  const before = now();
  const wanted = { ...before, windowSeconds: before.windowSecondsNext ?? before.windowSeconds };
  const fence: FenceRecord = { ...wanted, ...valuesIn(given) };
  const outcome = await authority.setFence({
    actor: { kind: 'operator', name: formatIdentity(request.identity) },
    fence: Object.fromEntries(names.map((name) => [name, fence[name]])) as FenceRecord,
    operation: `fence/${env.uuid()}`,
  });
  if (outcome.kind === 'Rejected') throw new BerthError('Invalid', outcome.message);
  if (outcome.kind === 'UnknownOutcome') throw new BerthError('UnknownOutcome', outcome.message);
  return valueResponse(200, { kind: 'Fence', apiVersion: 'authority.berth.dev/v1', ...fence });
}

/** A parsed boundary: each field is a number and one of the fence's. */
function valuesIn(given: unknown): Partial<FenceRecord> {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw new BerthError('BadRequest', 'the body must be an object of numbers');
  for (const [name, value] of Object.entries(given)) {
    if (!names.some((one) => one === name))
      throw new BerthError('BadRequest', `${name}: unknown field; known are ${names.join(', ')}`);
    if (typeof value !== 'number') throw new BerthError('BadRequest', `${name}: must be a number`);
  }
  return given;
}
