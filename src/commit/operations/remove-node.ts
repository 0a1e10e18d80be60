import { isNothing } from '../../model/amount-parts.js';
import { chargesFinalizer } from '../../model/kinds/node.js';
import type { RemoveNode } from '../../model/ports.js';
import {
  type Epoch,
  isOlderEpoch,
  leaseKey,
  nodeAccountKey,
  nodeEpochKey,
  nodeLeaseName,
  objectKey,
  pastEpochKey,
  statusKey,
} from '../../model/records.js';
import { checkActor } from '../act.js';
import type { Context } from '../context.js';
import { already, commit, type Decide, reject } from '../decision.js';
import type { Draft } from '../draft.js';
import { nodeAccount, nodeEpoch, storedNode } from '../stored.js';

/** [L7] A node that is being deleted goes, with all that is kept of it, once nothing is charged to it. */
export const removeNode =
  (context: Context, input: RemoveNode): Decide<undefined> =>
  (draft) => {
    const { node: name, actor } = input;
    const stored = storedNode(draft, undefined, name);
    if (stored?.metadata.uid !== input.uid) return already(undefined);
    const stale = checkActor(context, draft, 'removeNode', actor);
    if (stale !== undefined) return stale;
    const { deletionTimestamp, finalizers = [] } = stored.metadata;
    if (deletionTimestamp === undefined) return reject('NodeChanged', `node ${name} is not being deleted`);
    const others = finalizers.filter((finalizer) => finalizer !== chargesFinalizer);
    if (others.length > 0) return reject('NodeChanged', `node ${name} waits for ${others.join(', ')}`);
    const { used = {} } = nodeAccount(draft, name) ?? {};
    if (!isNothing(used))
      return reject('NodeChanged', `${used.replicas ?? 0} that are charged to node ${name} have not ended`);
    keepEpoch(draft, nodeEpoch(draft, name)?.epoch);
    draft.delete(objectKey('Node', undefined, name));
    draft.delete(statusKey('Node', undefined, name));
    draft.delete(nodeAccountKey(name));
    draft.delete(nodeEpochKey(name));
    draft.delete(leaseKey(nodeLeaseName(name)));
    return commit(undefined);
  };

/** [S8] A later node of that name must not get an epoch under which the old machine could still act. */
function keepEpoch(draft: Draft, epoch: Epoch | undefined): void {
  const past = pastEpoch(draft);
  if (epoch !== undefined && (past === undefined || isOlderEpoch(past, epoch)))
    draft.put(pastEpochKey, epoch);
}

/** The newest epoch of all nodes that are gone. */
// A parsed boundary, as in stored.ts.
export const pastEpoch = (draft: Draft): Epoch | undefined => draft.read(pastEpochKey) as Epoch | undefined;
