import { isDeepStrictEqual } from 'node:util';
import { type ReplicaStatus, type ReplicaTransition, transitionsMax } from '../../model/kinds/replica.js';
import { placeOf } from './cell-view.js';
import type { Commit, CommittedChange } from './checker.js';

/** One commit moves a replica at most this often; more would let a rewritten history pass for an appended one. */
const appendedMax = transitionsMax / 2;

/** What a commit did to the status of a replica. */
export interface ReplicaChange {
  readonly key: string;
  readonly tenant: string;
  readonly name: string;
  readonly before: ReplicaStatus | undefined;
  readonly after: ReplicaStatus | undefined;
}

const statusIn = (value: unknown): ReplicaStatus | undefined =>
  (value as { readonly status?: ReplicaStatus } | undefined)?.status;

function changeOf({ key, before, after }: CommittedChange): ReplicaChange | undefined {
  const place = placeOf(key);
  if (place?.part !== 's' || place.kind !== 'Replica') return undefined;
  const { tenant, name } = place;
  return { key, tenant, name, before: statusIn(before), after: statusIn(after) };
}

export const replicaChanges = (commit: Commit): readonly ReplicaChange[] =>
  commit.changes.map(changeOf).filter((change) => change !== undefined);

/**
 * The transitions that a change appended; undefined if it did anything else to the list. Old ones leave the list
 * only when it is full.
 */
export function appendedTransitions({
  before,
  after,
}: Pick<ReplicaChange, 'before' | 'after'>): readonly ReplicaTransition[] | undefined {
  const old = before?.transitions ?? [];
  const now = after?.transitions ?? [];
  for (let appended = 0; appended <= Math.min(appendedMax, now.length); appended += 1) {
    const kept = now.length - appended;
    if (kept > old.length || (kept < old.length && now.length !== transitionsMax)) continue;
    if (isDeepStrictEqual(now.slice(0, kept), old.slice(old.length - kept))) return now.slice(kept);
  }
  return undefined;
}

/** KIND and NAME of `KIND:NAME`. */
export function actorOf({ actor }: ReplicaTransition): { readonly kind: string; readonly name: string } {
  const colon = actor.indexOf(':');
  return colon < 0
    ? { kind: actor, name: '' }
    : { kind: actor.slice(0, colon), name: actor.slice(colon + 1) };
}
