import type { GangStatus } from '../../model/kinds/gang.js';
import type { MoveGang } from '../../model/ports.js';
import { checkActor } from '../act.js';
import type { Context } from '../context.js';
import { already, commit, type Decide, reject } from '../decision.js';
import { gangStatus, putStatus, storedGang } from '../stored.js';

type State = GangStatus['state'];

const edges: Readonly<Record<State, readonly State[]>> = {
  Waiting: ['Reserving'],
  Reserving: ['Committed', 'Released'],
  Committed: [],
  Released: ['Waiting'],
};

/** Moves a gang's record. The switch to Committed guards this record alone: holds are counted in it as they come. */
export const moveGang =
  (context: Context, input: MoveGang): Decide<undefined> =>
  (draft) => {
    const { tenant, gang: name, to } = input;
    const gang = storedGang(draft, tenant, name);
    if (gang === undefined || gang.metadata.uid !== input.uid)
      return reject('ReplicaChanged', `gang ${tenant}/${name} is gone`);
    const status: GangStatus = gangStatus(draft, tenant, name) ?? { state: 'Waiting' };
    if (status.state === to) return already(undefined);
    const stale = checkActor(context, draft, 'moveGang', input.actor);
    if (stale !== undefined) return stale;
    if (input.actor.kind === 'collector' && to !== 'Released' && context.checks.has('owner.operation'))
      return reject('NotOwner', `a ${input.actor.kind} only gives gangs up`);
    if (!edges[status.state].includes(to) && context.checks.has('gang.edge'))
      return reject('NoSuchEdge', `gang ${name} is ${status.state}; it cannot become ${to}`);
    const holds = status.holds ?? 0;
    if (to === 'Committed' && holds < gang.spec.minAvailable && context.checks.has('gang.holds'))
      return reject(
        'GangIncomplete',
        `${holds} of ${gang.spec.minAvailable} members of gang ${name} hold capacity`,
      );
    if (to === 'Waiting' && holds > 0 && context.checks.has('gang.emptied'))
      return reject('GangIncomplete', `${holds} members of gang ${name} still hold capacity`);
    putStatus(draft, 'Gang', tenant, name, {
      ...status,
      state: to,
      operation: input.operation,
      ...(to === 'Reserving' && { attempts: (status.attempts ?? 0) + 1 }),
    } satisfies GangStatus);
    return commit(undefined);
  };
