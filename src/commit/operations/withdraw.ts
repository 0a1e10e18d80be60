import type { Endpoints, EndpointsStatus } from '../../model/kinds/endpoints.js';
import type { Withdraw } from '../../model/ports.js';
import { awaitsWithdrawal } from '../../model/withdrawal.js';
import { checkActor } from '../act.js';
import type { Context } from '../context.js';
import { already, commit, type Decide, reject } from '../decision.js';
import { findReplica, replicaGone } from '../replica-moves.js';
import { putStatus, statusOf } from '../stored.js';
import { endpointsVersion } from './publish.js';

/**
 * [S6] Says of a replica that shall stop that it is listed no more, for endpoints that were published without it. Many leave
 * at once, and each time the endpoints would be written whole. One that shall stop is never listed again by who has seen
 * those endpoints, for it was to stop before they were written; of any other that could not be said.
 */
export const withdraw =
  (context: Context, { actor, replica: ref, workload, seen }: Withdraw): Decide<undefined> =>
  (draft) => {
    const stale = checkActor(context, draft, 'withdraw', actor);
    if (stale !== undefined) return stale;
    const replica = findReplica(draft, ref);
    if (replica === undefined) return replicaGone(ref);
    const { isListed, ...rest } = replica.status;
    if (isListed !== true) return already(undefined);
    if (!awaitsWithdrawal(replica) && context.checks.has('withdraw.asked'))
      return reject('EndpointsChanged', `${ref.name} shall not stop: it leaves with a publication`);
    const version = endpointsVersion(draft, ref.tenant, workload);
    const endpoints = statusOf<Endpoints>(draft, 'Endpoints', ref.tenant, workload);
    const isNamed = namesIn(endpoints).has(ref.name);
    if ((version !== Number(seen) || isNamed) && context.checks.has('withdraw.seen'))
      return reject(
        'EndpointsChanged',
        `endpoints ${ref.tenant}/${workload} are at ${version}, not at ${seen}${isNamed ? `, and name ${ref.name}` : ''}`,
      );
    putStatus(draft, 'Replica', ref.tenant, ref.name, rest);
    return commit(undefined);
  };

// Thousands leave the same endpoints.
const namesOf = new WeakMap<object, ReadonlySet<string>>();

function namesIn(endpoints: Partial<EndpointsStatus> | undefined): ReadonlySet<string> {
  const addresses = endpoints?.addresses ?? [];
  let names = namesOf.get(addresses);
  if (names === undefined) {
    names = new Set(addresses.map(({ replica }) => replica));
    namesOf.set(addresses, names);
  }
  return names;
}
