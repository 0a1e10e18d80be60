import { amountsOf } from '../model/amount.js';
import { refusedByGrant } from '../model/asked.js';
import { type Policy, policyRevision } from '../model/policy.js';
import type { TenantAccount } from '../model/records.js';
import { Candidates } from './candidates.js';
import type { CellState } from './cell-state.js';
import type {
  DecisionDraft,
  NodeAgeMs,
  PendingReplica,
  Placement,
  Turn,
  TurnResult,
  Wait,
} from './contract.js';
import { copied, InputsNotes } from './decision-inputs.js';
import { filters } from './filters/all.js';
import type { View } from './filters/filter.js';
import { quotaRoom } from './filters/quota.js';
import { customRefusal, type Plugin, pluginNode, pluginWork } from './plugin.js';
import type { ParkReason } from './queue/cures.js';
import type { RankCache } from './rank-cache.js';
import { schedulingClass } from './scheduling-class.js';
import { type Surroundings, surroundingsOf } from './surroundings.js';
import type { Rejected, Rejecter } from './tally.js';
import { refusal } from './verdicts.js';

export interface ProposeOptions {
  readonly policy: Policy;
  /** Equal nodes are told apart by it. */
  readonly seed: number;
  readonly ages: NodeAgeMs;
  readonly plugins?: readonly Plugin[];
  /** How old the picture of the cell is. */
  readonly snapshotAgeMs?: number;
  /** What is around the class, where it is known already: a decision that is run again. */
  readonly around?: Surroundings;
  /** What was said of the nodes in earlier turns over the same cell; without it a turn looks at all of them. */
  readonly ranks?: RankCache;
}

/** How many of the nodes chosen, and of those that came next, are shown with the parts of their score. */
const scoresShown = 5;
/** How many nodes of those each filter rejected are kept to run the decision again. */
const rejectedKept = 2;

/**
 * Places the replicas of a turn: filters and scores every node once for the class, then takes the best, again and
 * again. What it places it assumes, so the cell is charged with it when this returns; who is refused by the authority
 * is given up with `cell.unassume`.
 */
export function propose(cell: CellState, turn: Turn, options: ProposeOptions): TurnResult {
  return new TurnOf(cell, turn, options).run();
}

class TurnOf {
  readonly #placements: Placement[] = [];
  readonly #waits: Wait[] = [];
  readonly #scores: NonNullable<DecisionDraft['scores']>[number][] = [];
  readonly #tenantAccount: TenantAccount;
  #rejected: ReadonlyMap<Rejecter, Rejected> = new Map();

  constructor(
    private readonly cell: CellState,
    private readonly turn: Turn,
    private readonly options: ProposeOptions,
  ) {
    this.#tenantAccount = cell.tenantAccount(turn.classKey.slice(0, turn.classKey.indexOf('/')));
  }

  run(): TurnResult {
    const { cell, turn, options } = this;
    const cls = schedulingClass(cell, turn.classKey);
    if (cls === undefined) {
      for (const replica of turn.replicas)
        this.#wait(replica, 'ReplicaChanged', `the revision ${turn.classKey} is gone`);
      return this.#result(undefined, undefined);
    }
    const around = options.around === undefined ? surroundingsOf(cell, cls) : copied(options.around);
    const view: View = { cls, nodes: cell.nodes, around, ages: options.ages };
    const notes = new InputsNotes(cell, cls, options.ages, around);
    const anywhere: PendingReplica[] = [];
    for (const replica of turn.replicas)
      if (cls.isDaemon) this.#placeOn(view, notes, replica, replica.slot);
      else anywhere.push(replica);
    if (anywhere.length > 0) this.#placeAnywhere(view, notes, anywhere);
    return this.#result(view, notes);
  }

  /** For slots that are of one node. */
  #placeOn(view: View, notes: InputsNotes, replica: PendingReplica, node: string): void {
    const { cell } = this;
    const row = cell.nodes.rowOf(node);
    if (row === undefined || !cell.nodes.isNode(row))
      return this.#wait(replica, 'NoNode', `there is no node ${node}, which the slot is for`);
    notes.note(row);
    for (const filter of filters) {
      const says = refusal(view, filter, row);
      if (says !== undefined) return this.#wait(replica, filter.reason, `node ${node} ${says}`);
    }
    for (const custom of (this.options.plugins ?? []).flatMap((plugin) => plugin.filters)) {
      const says = customRefusal(custom, pluginWork(view), pluginNode(view, row));
      if (says !== undefined) return this.#wait(replica, 'PluginRefused', `node ${node} ${says}`);
    }
    const over = refusedByGrant(cell.tenantAccount(replica.tenant), view.cls.charged, replica.tenant);
    if (over !== undefined) return this.#wait(replica, over.reason, over.message);
    return this.#place(replica, row);
  }

  #placeAnywhere(view: View, notes: InputsNotes, replicas: readonly PendingReplica[]): void {
    const { cell, options } = this;
    const { cls } = view;
    const room = Math.min(replicas.length, quotaRoom(cls, cell.tenantAccount(cls.tenant)));
    let placed = 0;
    let isFull = false;
    if (room > 0) {
      const candidates = new Candidates(
        view,
        options.policy,
        options.seed,
        options.plugins ?? [],
        options.ranks,
      );
      while (placed < room) {
        const row = candidates.best();
        if (row === undefined) {
          isFull = true;
          break;
        }
        notes.note(row);
        if (this.#scores.length < scoresShown) this.#show(candidates, row);
        this.#place(replicas[placed] as PendingReplica, row);
        candidates.taken();
        placed += 1;
      }
      for (const row of candidates.rest(scoresShown)) {
        notes.note(row);
        this.#show(candidates, row);
      }
      this.#rejected = candidates.rejected();
      for (const { rows } of this.#rejected.values())
        for (const row of rows.slice(0, rejectedKept)) notes.note(row);
    }
    if (placed === replicas.length) return;
    const wait = isFull ? this.#noNode(view) : this.#noQuota(view);
    for (const replica of replicas.slice(placed)) this.#waits.push({ replica, ...wait });
  }

  #show(candidates: Candidates, row: number): void {
    const node = this.cell.nodes.names[row] ?? '';
    if (!this.#scores.some((score) => score.node === node))
      this.#scores.push({ node, ...candidates.partsOf(row) });
  }

  #place(replica: PendingReplica, row: number): void {
    const { nodes } = this.cell;
    const nodeEpoch = nodes.epochs[row];
    const node = nodes.names[row];
    if (nodeEpoch === undefined || node === undefined)
      throw new Error(`row ${row} is no node that takes work`);
    const placement: Placement = { replica, node, nodeEpoch };
    this.cell.assume(placement);
    this.#placements.push(placement);
  }

  #wait(replica: PendingReplica, reason: ParkReason, message: string): void {
    this.#waits.push({ replica, reason, message, reasons: [reason] });
  }

  #noQuota({ cls }: View): Omit<Wait, 'replica'> {
    const { reason, message } = refusedByGrant(
      this.cell.tenantAccount(cls.tenant),
      cls.charged,
      cls.tenant,
    ) ?? {
      reason: 'QuotaExceeded' as const,
      message: `tenant ${cls.tenant} has no quota left`,
    };
    return { reason, message, reasons: [reason] };
  }

  /** The reason that is told is that of the filter which nodes came furthest to: what is nearest to being cured. */
  #noNode(view: View): Omit<Wait, 'replica'> {
    const nodes = this.cell.nodes.nodeCount;
    const entries = [...this.#rejected].toSorted(([a], [b]) => distance(a) - distance(b));
    const [furthest, rejected] = entries.at(-1) ?? [];
    if (furthest === undefined || rejected === undefined)
      return { reason: 'NoNode', message: 'there is no node yet', reasons: ['NoNode'] };
    const counts = entries.map(([{ reason }, { count }]) => `${count} ${reason}`).join(', ');
    const example = messageOf(view, furthest, rejected.rows);
    const reasons = new Set(entries.map(([{ reason }]) => reason));
    return {
      reason: furthest.reason,
      message: `none of ${nodes} ${nodes === 1 ? 'node' : 'nodes'} takes it (${counts})${example === undefined ? '' : `: ${example}`}`,
      reasons: [...reasons],
    };
  }

  #result(view: View | undefined, notes: InputsNotes | undefined): TurnResult {
    const { cell, turn, options } = this;
    const [tenant = '', revision = ''] = turn.classKey.split('/');
    const workload = view?.cls.spec.workload ?? turn.replicas[0]?.workload ?? '';
    const { used, grant } = this.#tenantAccount;
    const rejections = [...this.#rejected].map(([filter, { count, rows }]) => {
      const message = view && messageOf(view, filter, rows);
      return {
        reason: filter.reason,
        count,
        nodes: rows.map((row) => cell.nodes.names[row] ?? ''),
        ...(message !== undefined && { message }),
      };
    });
    const inputs = notes?.finish({
      replicas: turn.replicas,
      seed: options.seed,
      policy: options.policy,
      tenantAccount: this.#tenantAccount,
      plugins: (options.plugins ?? []).map(({ source, digest }) => ({ source, digest })),
    });
    const decision: DecisionDraft = {
      workload,
      revision,
      generation: cell.workload(tenant, workload).stored?.metadata.generation ?? 0,
      snapshot: { revision: cell.version, ageMs: options.snapshotAgeMs ?? 0, nodes: cell.nodes.nodeCount },
      policyRevision: policyRevision(options.policy),
      result: this.#waits.length === 0 ? 'Placed' : this.#placements.length === 0 ? 'NotPlaced' : 'Partly',
      ...(this.#waits[0] !== undefined && { reason: this.#waits[0].reason }),
      quota: {
        revision: cell.version,
        used: amountsOf(used),
        ...(grant !== undefined && { grant: amountsOf(grant.most) }),
      },
      ...(rejections.length > 0 && { rejections }),
      ...(this.#scores.length > 0 && { scores: this.#scores }),
      ...(inputs !== undefined && { inputs }),
    };
    return { placements: this.#placements, plans: [], waits: this.#waits, later: [], decision };
  }
}

/** How far a node came that this filter rejected. Custom filters are asked last. */
function distance(filter: Rejecter): number {
  const at = filters.findIndex((own) => own === filter);
  return at < 0 ? filters.length : at;
}

function messageOf(view: View, filter: Rejecter, [row]: readonly number[]): string | undefined {
  const own = filters.find((one) => one === filter);
  if (own === undefined || row === undefined) return undefined;
  const says = refusal(view, own, row);
  return says === undefined ? undefined : `node ${view.nodes.names[row] ?? ''} ${says}`;
}
