import type { Env } from '../../env/env.js';
import type { Actor, Authority, Objects } from '../../model/ports.js';
import type { ReportProblem } from './requeue.js';

/** What a reconciler acts with during one term of its leadership. */
export interface Acting {
  readonly objects: Objects;
  readonly authority: Authority;
  readonly env: Env;
  readonly report: ReportProblem;
  /** Who it is, under the epoch of the term. */
  readonly actor: Actor;
  /** Ends the term: its epoch is over. */
  giveUp(why: string): void;
}

/** `TENANT/NAME`; objects of the cluster have no tenant. */
export const keyOfObject = (namespace: string | undefined, name: string): string =>
  namespace === undefined ? name : `${namespace}/${name}`;

/** Of a change that concerns nobody. */
export const noKeys: readonly string[] = [];

/** The tenant and name of a key `TENANT/NAME`. */
export function splitKey(key: string): { readonly tenant: string; readonly name: string } {
  const slash = key.indexOf('/');
  return { tenant: key.slice(0, slash), name: key.slice(slash + 1) };
}
