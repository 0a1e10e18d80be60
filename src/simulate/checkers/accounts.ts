import { isDeepStrictEqual } from 'node:util';
import { type Amount, eachResource, noAmount, sameAmount } from '../../model/amount.js';
import {
  nodeAccountKey,
  type SlotRecord,
  tenantAccountKey,
  type WorkloadAccount,
  workloadAccountKey,
} from '../../model/records.js';
import { isTerminal } from '../../model/stages.js';
import { CellView, placeOf, slotOf } from './cell-view.js';
import { ChargeBook, type Counts } from './charge-book.js';
import type { CellState, Commit, SafetyChecker, Violation } from './checker.js';
import { isNewHold, wrongGangs, wrongHolds } from './holds.js';

/**
 * [S7] The accounts of nodes, tenants and workloads equal the sums of the charges; a charge, once set, changes
 * only its subtotal; what uses capacity is charged; a hold is bound, released or expired, once. Claims are S1's.
 */
export class Accounts implements SafetyChecker {
  readonly rule = 'S7';
  checked = 0;
  readonly #book = new ChargeBook();

  onCommit(commit: Commit, state: CellState): readonly Violation[] {
    const moved = this.#book.apply(commit, state);
    const nodes = new Set(moved.nodes.keys());
    const tenants = new Set(moved.tenants.keys());
    const workloads = new Set(moved.workloads);
    for (const { key } of commit.changes) {
      const [, first, sort, one = '', two] = key.split('/');
      const slot = slotOf(key);
      if (slot !== undefined) workloads.add(`${slot.tenant}/${slot.workload}`);
      else if (first !== 'a') continue;
      else if (sort === 'node') nodes.add(one);
      else if (sort === 'tenant') tenants.add(one);
      else if (sort === 'workload') workloads.add(`${one}/${two}`);
    }
    const cell = new CellView(state);
    const touched = commit.changes.map(({ key }) => key);
    return [
      ...this.#sums(this.#book, cell, nodes, tenants, workloads),
      ...changedCharges(commit),
      ...new Set(touched.flatMap((key) => wrongCharge(cell, key))),
      ...wrongHolds(commit, cell),
      ...tooDisrupted(commit, cell),
    ].map((message) => this.#violation(state, message));
  }

  whole(state: CellState): readonly Violation[] {
    const book = ChargeBook.of(state);
    const names = (prefix: string): string[] =>
      [...state.under(prefix)].map(([key]) => key.slice(prefix.length));
    const slots = names('/t/').map((key) => key.split('/').slice(0, 2).join('/'));
    const cell = new CellView(state);
    const records = [...state.under('/s/Replica/'), ...state.under('/s/Reservation/')];
    return [
      ...this.#sums(
        book,
        cell,
        new Set([...book.nodes, ...names('/a/node/')]),
        new Set([...book.tenants, ...names('/a/tenant/')]),
        new Set([...book.workloads, ...names('/a/workload/'), ...slots]),
      ),
      ...records.flatMap(([key]) => wrongCharge(cell, key)),
      ...wrongGangs(cell),
    ].map((message) => this.#violation(state, message));
  }

  #violation(state: CellState, message: string): Violation {
    return { rule: this.rule, revision: state.revision, message };
  }

  #sums(
    book: ChargeBook,
    cell: CellView,
    nodes: ReadonlySet<string>,
    tenants: ReadonlySet<string>,
    workloads: ReadonlySet<string>,
  ): readonly string[] {
    this.checked += nodes.size + tenants.size + workloads.size;
    const messages: string[] = [];
    for (const node of nodes) {
      const account = cell.nodeAccount(node);
      const at = nodeAccountKey(node);
      messages.push(
        ...otherAmount(`${at} used`, account?.used, book.onNode(node)),
        ...otherCounts(`${at} revisions`, account?.revisions, book.revisionsOnNode(node)),
      );
    }
    for (const tenant of tenants) {
      const account = cell.tenantAccount(tenant);
      const at = tenantAccountKey(tenant);
      const { used, borrowed, lost } = book.ofTenant(tenant);
      messages.push(
        ...otherAmount(`${at} used`, account?.used, used),
        ...otherAmount(`${at} borrowed`, withoutReplicas(account?.borrowed), borrowed),
        ...otherAmount(`${at} lost`, account?.lost, lost),
      );
    }
    for (const name of workloads) {
      const [tenant = '', workload = ''] = name.split('/');
      const account = cell.workloadAccount(tenant, workload);
      const at = workloadAccountKey(tenant, workload);
      const disrupted = [...cell.state.under(`/t/${tenant}/${workload}/`)].filter(
        ([, slot]) => (slot as SlotRecord).isDisrupted === true,
      ).length;
      messages.push(
        ...otherCounts(`${at} regions`, account?.regions, book.regionsOfWorkload(tenant, workload)),
        ...otherCounts(`${at} zones`, account?.zones, book.zonesOfWorkload(tenant, workload)),
        ...otherCounts(at, { disrupted: account?.disrupted ?? 0 }, { disrupted }),
      );
    }
    return messages;
  }
}

const shown = (amount: Amount): string =>
  [...eachResource(amount)]
    .filter(([, count]) => count !== 0)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ') || 'nothing';

function withoutReplicas(amount: Amount = noAmount): Amount {
  const { replicas: _, ...rest } = amount;
  return rest;
}

function otherAmount(at: string, account: Amount | undefined, sum: Amount): readonly string[] {
  return sameAmount(account ?? noAmount, sum)
    ? []
    : [`${at} says ${shown(account ?? noAmount)}; the charges come to ${shown(sum)}`];
}

function otherCounts(at: string, account: Counts | undefined, sums: Counts): readonly string[] {
  const names = new Set([...Object.keys(account ?? {}), ...Object.keys(sums)]);
  return [...names]
    .filter((name) => (account?.[name] ?? 0) !== (sums[name] ?? 0))
    .map((name) => `${at} says ${name} ${account?.[name] ?? 0}; the records come to ${sums[name] ?? 0}`);
}

type Charged = { readonly status?: { readonly charge?: object; readonly awaits?: readonly object[] } };

/** A charge stays what it was first, but for its subtotal, and for the devices and ports that a hold still awaits. */
function changedCharges(commit: Commit): readonly string[] {
  return commit.changes
    .filter(({ key, before, after }) => {
      const place = placeOf(key);
      if (place?.part !== 's' || (place.kind !== 'Replica' && place.kind !== 'Reservation')) return false;
      const [was, is] = [(before as Charged | undefined)?.status, (after as Charged | undefined)?.status];
      if (was?.charge === undefined || is === undefined) return false;
      if (place.kind === 'Reservation' && isNewHold(commit, place.tenant, place.name)) return false;
      const changing = { subtotal: 0, ...((was.awaits ?? []).length > 0 && { devices: 0, ports: 0 }) };
      return !isDeepStrictEqual({ ...was.charge, ...changing }, { ...is.charge, ...changing });
    })
    .map(({ key }) => `${key}: its charge changed after it was set`);
}

/** What uses capacity is charged, and to its own tenant, workload and node. */
function wrongCharge(cell: CellView, key: string): readonly string[] {
  const place = placeOf(key);
  if (place === undefined) return [];
  const { tenant, name } = place;
  const say = (what: string): readonly string[] => [`/s/${place.kind}/${tenant}/${name} ${what}`];
  const replica = place.kind === 'Replica' ? cell.object('Replica', tenant, name) : undefined;
  if (replica?.status?.binding !== undefined && !isTerminal(replica.status.stage)) {
    const { charge, binding } = replica.status;
    if (charge === undefined) return say(`is bound to ${binding.node} and not charged`);
    const { workload, revision } = replica.spec;
    const expected = { tenant, node: binding.node, workload, revision };
    return mismatch(expected, charge).flatMap((field) =>
      say(`is charged with another ${field} than its own`),
    );
  }
  const hold = place.kind === 'Reservation' ? cell.object('Reservation', tenant, name) : undefined;
  if (hold?.status?.state !== 'Held') return [];
  if (hold.status.charge === undefined) return say(`is Held on ${hold.spec.node} and not charged`);
  return mismatch({ tenant, node: hold.spec.node }, hold.status.charge).flatMap((field) =>
    say(`is charged with another ${field} than its own`),
  );
}

function mismatch(expected: Readonly<Record<string, string>>, charge: object): readonly string[] {
  const actual = charge as Readonly<Record<string, unknown>>;
  return Object.keys(expected).filter((field) => expected[field] !== actual[field]);
}

/** Voluntary causes together disrupt no more of a workload than it allows: no commit raises the count above that. */
function tooDisrupted(commit: Commit, cell: CellView): readonly string[] {
  return commit.changes.flatMap(({ key, before, after }) => {
    const [, first, sort, tenant, workload] = key.split('/');
    if (first !== 'a' || sort !== 'workload') return [];
    const [was, is] = [before as WorkloadAccount | undefined, after as WorkloadAccount | undefined];
    const most = cell.object('Workload', tenant, workload ?? '')?.spec.disruption?.maxUnavailable ?? 1;
    return is !== undefined && is.disrupted > (was?.disrupted ?? 0) && is.disrupted > most
      ? [`${key} counts ${is.disrupted} disrupted; the workload allows ${most}`]
      : [];
  });
}
