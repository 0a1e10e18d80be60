import { leaseKey, nodeAccountKey, type NodeAccount, nodeLeaseName } from '../../model/records.js';
import { CellView } from './cell-view.js';
import type { CellState } from './checker.js';
import { type LivenessFacts, type LivenessResult, resultOf } from './liveness-facts.js';

/**
 * [L3] A node that comes back takes work again: one that was closed at some time, by silence or with its epoch, and whose
 * lease was renewed in the quiet window, is believed to be there, has an epoch under which it may act, and an open gate. And
 * a node whose agent is up renews its lease.
 */
export function returnedNodesTakeWork(state: CellState, facts: LivenessFacts): LivenessResult {
  const cell = new CellView(state);
  const renewed = new Set(facts.quietCommits.flatMap(({ changes }) => changes.map(({ key }) => key)));
  const closed = new Set<string>();
  for (const { changes } of facts.commits)
    for (const { key, after } of changes) {
      if (key.startsWith(accounts) && (after as NodeAccount | undefined)?.gate.state === 'Closed')
        closed.add(key.slice(accounts.length));
      if (key.startsWith(epochs) && (after as { readonly state?: string } | undefined)?.state === 'Closed')
        closed.add(key.slice(epochs.length));
    }
  const messages: string[] = [];
  let checked = 0;
  for (const name of closed) {
    const node = cell.object('Node', undefined, name);
    if (node === undefined || !renewed.has(leaseKey(nodeLeaseName(name)))) continue;
    checked += 1;
    const { reachability } = node.status ?? {};
    const { gate } = cell.nodeAccount(name) ?? {};
    if (reachability !== 'Fresh' || gate?.state !== 'Open')
      messages.push(
        `node ${name} is back and renews its lease; it is ${reachability ?? 'not judged'}, its gate is ${gate?.state ?? 'missing'} (${gate?.reason ?? 'no reason'})`,
      );
    const epoch = cell.nodeEpoch(name)?.state;
    if (epoch !== 'Open')
      messages.push(`node ${name} is back and renews its lease under an epoch that is ${epoch ?? 'missing'}`);
  }
  for (const name of facts.upNodes) {
    const isRenewed = renewed.has(leaseKey(nodeLeaseName(name)));
    if (cell.object('Node', undefined, name) === undefined || isRenewed) continue;
    checked += 1;
    messages.push(`the agent of ${name} is up and does not renew its lease`);
  }
  return resultOf('L3', state, checked, messages);
}

const accounts = nodeAccountKey('');
const epochs = '/e/';
