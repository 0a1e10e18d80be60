import { SeededRandom } from '../src/env/random.js';
import { realEnv } from '../src/env/real.js';
import type { Proposal } from '../src/model/ports.js';
import { type Epoch, type NodeAccount, nodeAccountKey } from '../src/model/records.js';
import { join } from 'node:path';
import { LmdbStore } from '../src/store/lmdb.js';
import { scratchDirectory } from '../testing/scratch.js';
import { openBindCell } from './bind-cell.js';
import type { BindCell } from './bind-load.js';
import type { Figure } from './measure.js';

const nodes = 1_000;
const replicasPerNode = 8;
const replicas = 6_000;
const proposalsPerTurn = 500;

/**
 * Several proposers that look at the cell at the same moment and then propose without looking again: they choose
 * the same replicas and fill the same nodes. What is rejected is proposed again after the next look.
 */
export async function bindConflicts(print: (figure: Figure) => void): Promise<void> {
  for (const proposers of [1, 2, 4, 8]) {
    const scratch = scratchDirectory('bench-conflicts');
    const store = await LmdbStore.open({ dir: join(scratch.path, 'store'), env: realEnv() });
    const cell = await openBindCell(store, realEnv(), { nodes, tenants: 20, replicas, replicasPerNode });
    const { seconds, proposed, rejected } = await proposeAll(cell, proposers);
    const name = `${proposers} proposer${proposers === 1 ? '' : 's'} with stale views`;
    print({ name: `${name}: binds committed`, value: replicas / seconds, unit: '/s' });
    print({ name: `${name}: rejected`, value: (100 * rejected) / proposed, unit: '%' });
    await cell.cache.close();
    await store.close();
    scratch.remove();
  }
}

async function proposeAll(cell: BindCell, proposers: number) {
  const random = new SeededRandom(`proposers ${proposers}`);
  const free = new Map(cell.nodes.map((node) => [node, replicasPerNode]));
  const pending = new Map(cell.proposals.map((proposal) => [proposal.replica.uid, proposal]));
  let proposed = 0;
  let rejected = 0;
  const startedAt = performance.now();
  for (let turn = 0; pending.size > 0; turn++) {
    const batches = Array.from({ length: proposers }, (_, proposer) =>
      choose(cell, random, pending, free, `${turn}/${proposer}`),
    );
    const answers = await Promise.all(batches.map((batch) => cell.authority.bind(batch)));
    for (const [at, batch] of batches.entries())
      for (const [index, { replica, node }] of batch.entries()) {
        proposed += 1;
        const outcome = answers[at]?.[index];
        if (outcome?.kind === 'Committed') {
          if (!pending.delete(replica.uid)) throw new Error(`${replica.name} was bound twice`);
          free.set(node, (free.get(node) ?? 0) - 1);
        } else if (
          outcome?.kind !== 'Rejected' ||
          (outcome.reason !== 'AlreadyBound' && outcome.reason !== 'NodeFull')
        )
          throw new Error(`neither committed nor in conflict: ${JSON.stringify(outcome)}`);
        else rejected += 1;
      }
    // Each rejection was true: its replica has been bound, or its node is full.
    for (const [at, batch] of batches.entries())
      for (const [index, { replica, node }] of batch.entries()) {
        const outcome = answers[at]?.[index];
        if (outcome?.kind !== 'Rejected') continue;
        const isTrue = outcome.reason === 'AlreadyBound' ? !pending.has(replica.uid) : free.get(node) === 0;
        if (!isTrue) throw new Error(`rejected in vain: ${JSON.stringify(outcome)}`);
      }
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  for (const [node, left] of free) {
    const account = cell.cache.record(nodeAccountKey(node))?.value as NodeAccount | undefined;
    if (left < 0 || (account?.used.replicas ?? 0) !== replicasPerNode - left)
      throw new Error(`${node} has ${account?.used.replicas} replicas`);
  }
  return { seconds, proposed, rejected };
}

/** What one proposer makes of the view that all share: replicas and nodes at random, none of its nodes overfilled. */
function choose(
  { epochs }: BindCell,
  random: SeededRandom,
  pending: ReadonlyMap<string, Proposal>,
  free: ReadonlyMap<string, number>,
  turn: string,
): Proposal[] {
  const waiting = [...pending.values()];
  const open = [...free].filter(([, left]) => left > 0).map(([name, left]) => ({ name, left }));
  const from = random.integer(waiting.length);
  const count = Math.min(proposalsPerTurn, waiting.length);
  return Array.from({ length: count }, (_, index): Proposal => {
    const proposal = waiting[(from + index) % waiting.length] as Proposal;
    let node = open[random.integer(open.length)];
    while (node === undefined || node.left === 0) node = open[random.integer(open.length)];
    node.left -= 1;
    return {
      ...proposal,
      node: node.name,
      nodeEpoch: epochs.get(node.name) as Epoch,
      operation: `${proposal.operation}/${turn}`,
    };
  });
}
