import { nodeAccountKey, type NodeAccount, type NodeEpoch, nodeEpochKey } from '../model/records.js';
import type { Context } from './context.js';
import type { Draft } from './draft.js';
import { nodeAccount } from './stored.js';

/** Nothing is bound, reported or renewed under a node's epoch from now on; its account names it no more. */
export function closeEpoch(context: Context, draft: Draft, node: string, epoch: NodeEpoch): void {
  draft.put(nodeEpochKey(node), { ...epoch, state: 'Closed' } satisfies NodeEpoch);
  const account = nodeAccount(draft, node);
  if (account?.epoch === undefined || !context.checks.has('post.node.epoch')) return;
  const { epoch: _, ...rest } = account;
  draft.put(nodeAccountKey(node), rest satisfies NodeAccount);
}
