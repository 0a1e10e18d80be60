import { fenceContract } from '../model/fence-contract.js';
import type { Node } from '../model/kinds/node.js';
import type { Replica } from '../model/kinds/replica.js';
import type { OperationInput, OperationName, operationTable } from '../model/operations.js';
import type { Actor, Outcome } from '../model/ports.js';
import type { Epoch } from '../model/records.js';
import { kindOf } from '../objects/open-objects.fixture.js';
import type { Checks } from './checks.js';
import { lead } from './open-authority.fixture.js';
import { done, openTestCell, refOf, type TestCell, type WorkloadOptions } from './test-cell.fixture.js';

/** The second incarnation of the cell: epochs of the first one are over. */
const cellNumber = 2;
export const currentEpoch: Epoch = { cell: cellNumber, number: 3 };

const names = [
  'scheduler',
  'workload-controller',
  'endpoints-controller',
  'repair-controller',
  'grant-controller',
  'detector',
  'collector',
  'rollout',
  'drain',
] as const;

/** A cell in which every lease and every node is at its third epoch, so that two earlier ones are over. */
export async function openThirdEpochs(checks?: Checks): Promise<TestCell> {
  const cell = await openTestCell({
    isAudited: false,
    authority: { cell: cellNumber, ...(checks && { checks }) },
  });
  for (const kind of names) {
    await lead(cell.authority, kind, kind, 'second');
    cell.actors[kind] = await lead(cell.authority, kind, kind, 'third');
  }
  cell.actors.preemption = { ...cell.actors.scheduler, kind: 'preemption' };
  // An epoch of another lease that no lease and no node of these tests is at.
  for (const holder of ['a', 'b', 'c', 'd', 'e']) await lead(cell.authority, 'detector', 'other', holder);
  await cell.tenant('shop');
  for (let count = 0; count < currentEpoch.number; count++) await cell.node('n1');
  return cell;
}

const waiting = async (cell: TestCell, more: WorkloadOptions = {}): Promise<Replica> =>
  cell.incarnate(await cell.workload('shop', 'web', { cpu: '1' }, more));

const bound = async (cell: TestCell, more: WorkloadOptions = {}): Promise<Replica> => {
  const replica = await waiting(cell, more);
  done(await cell.bind(replica, 'n1'));
  return replica;
};

const ready = async (cell: TestCell): Promise<Replica> => {
  const replica = await bound(cell);
  for (const stage of ['Starting', 'Ready'] as const) done(await cell.report(replica, stage));
  return replica;
};

const gang = async (cell: TestCell, actor: Actor) => {
  const { metadata } = await cell.create('Gang', 'shop', 'all', {
    ...{ workload: 'web', minAvailable: 2, members: 3 },
  });
  return { actor, tenant: 'shop', gang: 'all', uid: metadata.uid };
};

const moving = { reason: 'Test', operation: 'the one' } as const;

type Table = typeof operationTable;
export type SenderOf<K extends OperationName> = Table[K]['senders'][number];

/**
 * For every operation: a cell in a state in which it commits, and its input as this sender would send it. By the table
 * of operations, so that an operation without a case does not compile.
 */
export const eachOperation: {
  readonly [K in OperationName]: (cell: TestCell, sender: SenderOf<K>) => Promise<OperationInput<K>>;
} = {
  takeLease: async () => ({ name: 'new', holder: 'h', durationSeconds: 15, operation: 'the one' }),
  renew: async () => ({ name: 'node-n1', holder: 'n1', epoch: currentEpoch }),
  resign: async () => ({ name: 'node-n1', holder: 'n1', epoch: currentEpoch, reason: 'Stopped' }),
  register: async () => ({
    ...{ node: 'n1', capacity: { cpu: '8' }, allocatable: { cpu: '8' }, agent: {}, leaseSeconds: 40 },
    operation: 'the one',
  }),
  incarnate: async (cell, sender) => ({
    ...{ actor: cell.actors[sender], tenant: 'shop', workload: 'web', slot: '0', incarnation: 1 },
    workloadUid: (await cell.workload('shop', 'web')).metadata.uid,
    ...{ revision: 'web-r1', stage: 'Queued', ...moving },
  }),
  reserve: async (cell, sender) => ({
    ...cell.proposal(await waiting(cell), 'n1', { actor: cell.actors[sender] }),
    ...{ intent: 'Bind', deadlineSeconds: 30 },
  }),
  bind: async (cell, sender) => cell.proposal(await waiting(cell), 'n1', { actor: cell.actors[sender] }),
  postpone: async (cell, sender) => ({
    ...{ actor: cell.actors[sender], replica: refOf(await waiting(cell)) },
    ...{ reason: 'NodeFull', message: 'no room' },
  }),
  report: async (cell) => {
    const replica = await bound(cell);
    const { fence = '' } = (await cell.status(replica)).binding ?? {};
    return {
      ...{ node: 'n1', nodeEpoch: currentEpoch, replica: refOf(replica), fence },
      ...{ stage: 'Starting', ...moving },
    };
  },
  evict: async (cell, sender) => ({
    ...{ actor: cell.actors[sender], replica: refOf(await bound(cell)), ...moving },
  }),
  move: async (cell, sender) => {
    const actor = cell.actors[sender];
    switch (sender) {
      case 'workload-controller': {
        const workload = await cell.workload('shop', 'web');
        const replica = await cell.incarnate(workload, '0', 1, { stage: 'Admitted' });
        return { actor, replica: refOf(replica), from: 'Admitted', to: 'Queued', ...moving };
      }
      case 'endpoints-controller':
        return { actor, replica: refOf(await ready(cell)), from: 'Ready', to: 'Serving', ...moving };
      case 'repair-controller':
        return { actor, replica: refOf(await bound(cell)), from: 'Bound', to: 'Unknown', ...moving };
    }
  },
  release: async (cell, sender) => {
    const actor = cell.actors[sender];
    if (sender === 'workload-controller')
      return { actor, replica: refOf(await waiting(cell)), proof: { kind: 'NeverBound' }, ...moving };
    const replica = await bound(cell, { template: { execution: 'AtMostOne' } });
    done(await cell.lose(replica));
    const journalSince = await cell.node('n1', { journal: 'another' });
    return {
      ...{ actor, replica: refOf(replica), ...moving },
      proof: { kind: 'JournalExpired', journalSince, stoodSeconds: fenceContract.windowSeconds },
    };
  },
  releaseHold: async (cell, sender) => {
    const hold = done(await cell.reserve(await waiting(cell), 'n1'));
    return { actor: cell.actors[sender], tenant: 'shop', ...hold, as: 'Released', ...moving };
  },
  publish: async (cell, sender) => ({
    ...{ actor: cell.actors[sender], tenant: 'shop', workload: 'web', leaving: [] },
    workloadUid: (await cell.workload('shop', 'web')).metadata.uid,
    endpoints: { addresses: [], source: 'Current' },
  }),
  withdraw: async (cell, sender) => {
    const actor = cell.actors[sender];
    const replica = await ready(cell);
    done(await cell.move(replica, sender, 'Serving'));
    done(await cell.evict(replica));
    const [owner] = replica.metadata.ownerReferences ?? [];
    const published = await cell.authority.publish({
      ...{ actor, tenant: 'shop', workload: 'web', workloadUid: owner?.uid ?? '', leaving: [] },
      endpoints: { addresses: [], source: 'Current' },
    });
    done(published);
    const seen = published.kind === 'Committed' ? published.revision : '';
    return { actor, replica: refOf(replica), workload: 'web', seen };
  },
  gate: async (cell, sender) => {
    const gate = { actor: cell.actors[sender], node: 'n1', nodeEpoch: currentEpoch, ...moving };
    done(await cell.authority.gate({ ...gate, reachability: 'Suspect', operation: 'closed' }));
    return { ...gate, reachability: 'Fresh' };
  },
  grant: async (cell, sender) => {
    await cell.set('Tenant', 'shop', { limit: { cpu: '9' } });
    return { actor: cell.actors[sender], tenant: 'shop', operation: 'the one' };
  },
  attest: async (cell, sender) => {
    const about = { node: 'n1', nodeEpoch: currentEpoch, forSeconds: 60, ...moving };
    const actor = cell.actors[sender];
    if (sender === 'operator') return { actor, ...about };
    done(await cell.authority.attest({ ...about, actor: cell.actors.operator, operation: 'given' }));
    return { actor, ...about, isOver: true };
  },
  setFence: async (cell, sender) => ({
    ...{ actor: cell.actors[sender], operation: 'the one' },
    fence: { ...fenceContract, windowSeconds: fenceContract.windowSeconds + 10 },
  }),
  settleFence: async (cell, sender) => {
    const { operator } = cell.actors;
    const fence = { ...fenceContract, permitSeconds: 60, windowSeconds: 70 };
    done(await cell.authority.setFence({ actor: operator, fence, operation: 'lower' }));
    return { actor: cell.actors[sender], operation: 'lower', stoodSeconds: fenceContract.windowSeconds };
  },
  remark: async (cell, sender) => ({
    ...{ actor: cell.actors[sender], about: { kind: 'Node', node: 'n1' }, clear: [] },
    set: [{ type: 'FenceOverrun', reason: 'Test', message: 'a test says so' }],
  }),
  moveGang: async (cell, sender) => {
    const move = await gang(cell, cell.actors[sender]);
    if (sender === 'scheduler') return { ...move, to: 'Reserving', operation: 'the one' };
    const { scheduler } = cell.actors;
    done(
      await cell.authority.moveGang({ ...move, actor: scheduler, to: 'Reserving', operation: 'reserving' }),
    );
    return { ...move, to: 'Released', operation: 'the one' };
  },
  forget: async (cell, sender) => {
    const replica = await waiting(cell);
    done(await cell.release(replica, { kind: 'NeverBound' }, 'workload-controller'));
    return { actor: cell.actors[sender], replica: refOf(replica), dropSlot: true, operation: 'the one' };
  },
  removeNode: async (cell, sender) => {
    const { uid } = (await cell.record<Node>('/o/Node/_/n1')).metadata;
    await cell.objects.delete(kindOf('Node'), { kind: 'Node', namespace: undefined, name: 'n1' });
    return { actor: cell.actors[sender], node: 'n1', uid, operation: 'the one' };
  },
};

/** Sends an operation by its name; of `bind` one proposal. */
export async function send<K extends OperationName>(
  { authority }: TestCell,
  operation: K,
  input: OperationInput<K>,
): Promise<Outcome<unknown>> {
  const wanted = operation === 'bind' ? [input] : input;
  const method = authority[operation] as (input: unknown) => Promise<Outcome<unknown> | Outcome<unknown>[]>;
  const [outcome] = [await method.call(authority, wanted)].flat();
  if (outcome === undefined) throw new Error(`${operation} has no outcome`);
  return outcome;
}
