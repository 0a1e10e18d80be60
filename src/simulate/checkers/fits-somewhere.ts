import type { WorkloadRevisionSpec } from '../../model/kinds/workload-revision.js';
import type { NodeAccount } from '../../model/records.js';
import { CellView } from './cell-view.js';
import { ChargeBook } from './charge-book.js';
import type { CellState } from './checker.js';
import { resultOf, type LivenessResult } from './liveness-facts.js';
import {
  accountWithout,
  canLeave,
  hasRoom,
  isAllowedOn,
  isGranted,
  isWithinGuarantee,
  type Waiting,
} from './node-fit.js';

/** A replica that waits for a place, and the nodes that would take it. */
interface Judged extends Waiting {
  readonly fitting: readonly string[];
}

type HasRoom = (cell: CellView, book: ChargeBook, node: string, waiting: Waiting) => boolean;

/**
 * Every replica that is Queued, with the nodes that its rules and `hasRoom` allow. Not judged: members of gangs, which
 * must fit together, what must be near others, and what must be kept from the zones of other workloads.
 */
function judgeWaiting(state: CellState, hasRoomFor: HasRoom): { checked: number; waiting: Judged[] } {
  const cell = new CellView(state);
  const book = ChargeBook.of(state);
  const nodes = [...cell.objects('Node')].filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  let checked = 0;
  const judged: Judged[] = [];
  for (const replica of cell.objects('Replica')) {
    const { metadata, spec, status } = replica;
    if (status?.stage === 'Admitted' || spec.gang !== undefined) continue;
    checked += 1;
    const revision = cell.object('WorkloadRevision', metadata.namespace, spec.revision)?.spec;
    const isAsked = status?.intent === undefined && metadata.deletionTimestamp === undefined;
    if (status?.stage !== 'Queued' || revision === undefined || !isAsked) continue;
    if (isJudgedByOthers(revision)) continue;
    const tenant = metadata.namespace ?? '';
    if (!isGranted(cell, tenant, revision)) continue;
    const waiting: Waiting = { replica, tenant, revision };
    const fitting = nodes
      .filter(
        (node) =>
          isAllowedOn(cell, book, node, waiting) && hasRoomFor(cell, book, node.metadata.name, waiting),
      )
      .map((node) => node.metadata.name);
    judged.push({ ...waiting, fitting });
  }
  return { checked, waiting: judged };
}

/** [L1] Work that fits and is allowed gets bound: nothing is Queued that a node would take as the cell stands. */
export function fitsSomewhere(state: CellState): LivenessResult {
  const { checked, waiting } = judgeWaiting(state, (cell, _, node, { revision }) =>
    hasRoom(cell.nodeAccount(node), revision),
  );
  const messages = waiting
    .filter(({ fitting }) => fitting.length > 0)
    .map(
      ({ tenant, replica, fitting }) =>
        `/s/Replica/${tenant}/${replica.metadata.name} is Queued and would fit on ${fitting.join(', ')}`,
    );
  return resultOf('L1', state, checked, messages);
}

/**
 * [L10] Demand within a guarantee is placed despite borrowers: nothing is Queued that would be charged as Guaranteed and
 * that a node would take if those left that run there and are Borrowed. A workload does not make room for itself.
 */
export function guaranteesKept(state: CellState): LivenessResult {
  const view = new CellView(state);
  const { checked, waiting } = judgeWaiting(state, (cell, book, node, waits) => {
    const account = cell.nodeAccount(node);
    return (
      account !== undefined && hasRoom(withoutBorrowers(cell, book, node, account, waits), waits.revision)
    );
  });
  const messages = waiting
    .filter(
      ({ fitting, tenant, revision }) => fitting.length > 0 && isWithinGuarantee(view, tenant, revision),
    )
    .map(
      ({ tenant, replica, fitting }) =>
        `/s/Replica/${tenant}/${replica.metadata.name} is Queued within the guarantee of ${tenant}; borrowers are on ${fitting.join(', ')}`,
    );
  return resultOf('L10', state, checked, messages);
}

/** The account of a node as it would be without the borrowers that can be asked to leave. */
function withoutBorrowers(
  cell: CellView,
  book: ChargeBook,
  node: string,
  account: NodeAccount,
  { tenant, replica }: Waiting,
): NodeAccount {
  const gone = [...book.chargesOnNode(node)].filter(({ key, charge }) => {
    const isOwn = charge.tenant === tenant && charge.workload === replica.spec.workload;
    return charge.rank === 'Borrowed' && !isOwn && canLeave(cell, key);
  });
  return accountWithout(account, gone);
}

/** Rules that say of other workloads where this one may be, which is best effort and not judged here. */
function isJudgedByOthers({ placement }: WorkloadRevisionSpec): boolean {
  const isHard = ({ mode = 'Required' }: { readonly mode?: string }): boolean => mode === 'Required';
  return (
    (placement?.affinity ?? []).some(isHard) ||
    (placement?.antiAffinity ?? []).some(
      (rule) => isHard(rule) && rule.topology !== 'Node' && rule.selector !== undefined,
    )
  );
}
