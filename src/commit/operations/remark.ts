import type { Node, NodeStatus } from '../../model/kinds/node.js';
import type { Region } from '../../model/kinds/region.js';
import type { Remark } from '../../model/ports.js';
import { checkActor } from '../act.js';
import type { Context } from '../context.js';
import { already, commit, type Decide, reject } from '../decision.js';
import { findReplica, replicaGone } from '../replica-moves.js';
import { putStatus, statusOf, storedNode, storedRegion } from '../stored.js';
import { type Conditions, withConditions } from '../conditions.js';

/** [L6] Says as conditions what people should know of a repair. Written only when it says something else (L8, L9). */
export const remark =
  (context: Context, input: Remark): Decide<undefined> =>
  (draft) => {
    const { about, actor } = input;
    const stale = checkActor(context, draft, 'remark', actor);
    if (stale !== undefined) return stale;
    const change = (before: Conditions): Conditions | undefined =>
      withConditions(before, input.set, input.clear, context.at);
    if (about.kind === 'Region') {
      if (storedRegion(draft, undefined, about.region) === undefined) return already(undefined);
      const status = statusOf<Region>(draft, 'Region', undefined, about.region);
      const conditions = change(status?.conditions ?? []);
      if (conditions === undefined) return already(undefined);
      putStatus(draft, 'Region', undefined, about.region, { ...status, conditions });
      return commit(undefined);
    }
    if (about.kind === 'Node') {
      if (storedNode(draft, undefined, about.node) === undefined) return already(undefined);
      const status = statusOf<Node>(draft, 'Node', undefined, about.node) as NodeStatus | undefined;
      const conditions = status && change(status.conditions ?? []);
      if (conditions === undefined) return already(undefined);
      putStatus(draft, 'Node', undefined, about.node, { ...status, conditions });
      return commit(undefined);
    }
    const replica = findReplica(draft, about.replica);
    if (replica === undefined) return replicaGone(about.replica);
    const { status, tenant, name } = replica;
    if (status.stage !== about.stage)
      return reject('NoSuchEdge', `${name} is ${status.stage}, not ${about.stage}`);
    const conditions = change(status.conditions ?? []);
    if (conditions === undefined) return already(undefined);
    putStatus(draft, 'Replica', tenant, name, { ...status, conditions });
    return commit(undefined);
  };
