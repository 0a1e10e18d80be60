import { BerthError, isBerthError } from '../../model/errors.js';
import { formatDuration } from '../../model/duration.js';
import { parseIdentity } from './identity.js';

/** What a machine that joins by a token becomes. Neither name nor prefix: any name that no node has. */
export interface JoinGrant {
  readonly node?: string;
  readonly prefix?: string;
  readonly region: string;
  readonly zone: string;
}

const dayMs = 86_400_000;
// Whoever finds it can become a node: it is for setting up machines, not for keeping.
const joinTtlMsMax = 7 * dayMs;
const placePattern = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** Refuses a grant that could not be used. */
export function checkGrant({ node, prefix, region, zone }: JoinGrant, ttlMs: number): void {
  const wrong = (problem: string): BerthError => new BerthError('InvalidToken', `a join token: ${problem}`);
  if (node !== undefined && prefix !== undefined)
    throw wrong('give the name of a node or a prefix, not both');
  if (node !== undefined && !isNodeName(node))
    throw wrong(`${JSON.stringify(node)} is not the name of a node`);
  if (prefix !== undefined && !isNodeName(`${prefix}0`))
    throw wrong(`${JSON.stringify(prefix)} is not how the name of a node begins`);
  for (const [what, name] of Object.entries({ region, zone }))
    if (!placePattern.test(name)) throw wrong(`${JSON.stringify(name)} is not the name of a ${what}`);
  if (ttlMs > joinTtlMsMax) throw wrong(`it lives for at most ${formatDuration(joinTtlMsMax)}`);
}

// A common name of a certificate has room for no more, with `node:` before it.
const nodeNameLengthMax = 59;

/** Whether a node of that name can have a certificate. */
export function isNodeName(name: string): boolean {
  try {
    return name.length <= nodeNameLengthMax && parseIdentity(`node:${name}`).kind === 'node';
  } catch (error) {
    if (isBerthError(error, 'InvalidIdentity')) return false;
    throw error;
  }
}

/** Why a grant is not for where a machine expects to be; undefined if it is. */
export function whyElsewhere(
  { region, zone }: JoinGrant,
  expected: { readonly region?: string; readonly zone?: string },
): string | undefined {
  const { region: expectedRegion = region, zone: expectedZone = zone } = expected;
  if (expectedRegion === region && expectedZone === zone) return undefined;
  return `the token is for region ${region} and zone ${zone}, and this machine is started for region ${expectedRegion} and zone ${expectedZone}: change --region and --zone, or make another token`;
}

/** Why a grant does not cover a name; undefined if it does. */
export function whyNotCovered({ node, prefix }: JoinGrant, name: string): string | undefined {
  if (!isNodeName(name))
    return `${JSON.stringify(name.slice(0, 100))} is not the name of a node: at most ${nodeNameLengthMax} lower-case letters, digits, hyphens and dots`;
  if (node !== undefined && node !== name) return `the token is for the node ${node}, not for ${name}`;
  if (prefix !== undefined && !name.startsWith(prefix))
    return `the token is for nodes whose names begin with ${prefix}, not for ${name}`;
  return undefined;
}
