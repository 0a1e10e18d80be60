import { type Amount, amountOf, countOf, eachResource, noAmount } from '../../model/amount.js';
import { CellView } from './cell-view.js';
import { ChargeBook } from './charge-book.js';
import { type LiveCharge, liveCharges } from './charges.js';
import type { CellState, Commit, SafetyChecker, Violation } from './checker.js';
import { KnownExcess } from './known-excess.js';
import type { NodeAccount } from '../../model/records.js';
import { nodeAccountKey } from '../../model/records.js';

/** A node offers any number of replicas unless it says how many; of all else it offers nothing it does not name. */
const offered = (allocatable: Amount, resource: string): number =>
  countOf(allocatable, resource) ?? (resource === 'replicas' ? Number.POSITIVE_INFINITY : 0);

/**
 * [S2] No commit raises a node's use above what it offers, by its account and by the sum of charges; and a charge
 * is at least what its template asks for, since use that is not charged would break the rule unseen.
 */
export class NodeCapacity implements SafetyChecker {
  readonly rule = 'S2';
  checked = 0;
  readonly #book = new ChargeBook();
  readonly #excess = new KnownExcess();

  onCommit(commit: Commit, state: CellState): readonly Violation[] {
    const cell = new CellView(state);
    const moved = this.#book.apply(commit, state);
    const accounts = new Map(commit.changes.map((change) => [change.key, change.before]));
    const touched = new Set(moved.nodes.keys());
    for (const key of accounts.keys())
      if (key.startsWith('/a/node/')) touched.add(key.slice('/a/node/'.length));

    const violations: Violation[] = [];
    for (const node of touched) {
      const key = nodeAccountKey(node);
      const after = cell.nodeAccount(node);
      const before = (accounts.has(key) ? accounts.get(key) : after) as NodeAccount | undefined;
      const most = (resource: string): number =>
        Math.max(offered(before?.allocatable ?? noAmount, resource), this.#offer(after, resource));
      const sums = this.#book.onNode(node);
      this.checked += 1;
      for (const [what, was, is] of [
        ['account', before?.used ?? noAmount, after?.used ?? noAmount],
        ['sum of charges', moved.nodes.get(node) ?? sums, sums],
      ] as const)
        for (const message of this.#excess.raised(`${key} ${what}`, was, is, most, (resource) =>
          this.#offer(after, resource),
        ))
          violations.push({ rule: this.rule, revision: state.revision, message });
    }
    for (const { key, before } of commit.changes) {
      const live = isFirstCharge(before) ? this.#book.charge(key) : undefined;
      if (live !== undefined) violations.push(...this.#undercharged(cell, live));
    }
    return violations;
  }

  whole(state: CellState): readonly Violation[] {
    const cell = new CellView(state);
    const book = ChargeBook.of(state);
    const nodes = new Set(book.nodes);
    for (const [key] of state.under('/a/node/')) nodes.add(key.slice('/a/node/'.length));
    const over = [...nodes].flatMap((node) => {
      const account = cell.nodeAccount(node);
      const most = (resource: string): number => this.#offer(account, resource);
      return [
        ...this.#excess.unknown(`${nodeAccountKey(node)} account`, account?.used ?? noAmount, most),
        ...this.#excess.unknown(`${nodeAccountKey(node)} sum of charges`, book.onNode(node), most),
      ].map((message): Violation => ({ rule: this.rule, revision: state.revision, message }));
    });
    return [...over, ...[...liveCharges(state)].flatMap((live) => this.#undercharged(cell, live))];
  }

  #offer(account: NodeAccount | undefined, resource: string): number {
    return offered(account?.allocatable ?? noAmount, resource);
  }

  #undercharged(cell: CellView, { key, charge, awaits, awaitedPorts }: LiveCharge): readonly Violation[] {
    const asked = cell.object('WorkloadRevision', charge.tenant, charge.revision ?? '')?.spec.template
      .resources;
    if (asked === undefined) return [];
    const { ports = [], ...amounts } = asked;
    const charged = amountOf(charge.amounts);
    const missing = [...eachResource(amountOf(amounts))]
      .filter(([resource, count]) => (countOf(charged, resource) ?? 0) < count)
      .map(([resource, count]) => `${countOf(charged, resource) ?? 0} ${resource} of ${count}`);
    for (const [name, count] of Object.entries(asked.devices ?? {})) {
      const claimed = charge.devices?.[name]?.length ?? 0;
      // What a hold awaits it has not been given yet; its owner is judged when it is bound.
      if (claimed < count && awaits.length === 0) missing.push(`${claimed} devices ${name} of ${count}`);
    }
    for (const port of ports) {
      const [name = '', number] = port.split(':');
      const claimed = charge.ports?.[name] ?? awaitedPorts[name];
      if (claimed === undefined || (number !== undefined && claimed !== Number(number)))
        missing.push(`port ${claimed ?? 'none'} for ${port}`);
    }
    if (missing.length === 0) return [];
    const message = `${key} is charged less than ${charge.tenant}/${charge.revision ?? ''} asks for: ${missing.join(', ')}`;
    return [{ rule: this.rule, revision: cell.state.revision, message }];
  }
}

const isFirstCharge = (before: unknown): boolean =>
  (before as { readonly status?: { readonly charge?: unknown } } | undefined)?.status?.charge === undefined;
