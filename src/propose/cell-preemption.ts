import { addAmounts, type Amount, amountOf, subtractAmounts } from '../model/amount.js';
import { amountsAsked } from '../model/asked.js';
import type { TenantSpec } from '../model/kinds/tenant.js';
import type { TenantAccount } from '../model/records.js';
import type { CellState } from './cell-state.js';
import type { ClassKey, PreemptionPlan } from './contract.js';
import { Occupancy } from './occupancy.js';
import { type Occupant, type OccupiedNode, withOccupants } from './occupants.js';
import type { PreemptingClass, PreemptionCell, SpokenFor } from './preemption-cell.js';
import type { ParkReason } from './queue/cures.js';
import { type RoomlessRules, roomlessRules } from './roomless-rules.js';
import type { VerdictOptions } from './verdicts.js';

// Some 5 ms of a busy cell: what is looked at in one stretch, and what a planner may still look at itself.
const nodesPerLook = 100;

/**
 * A picture of the cell as planners of preemption look at it, kept for as long as the picture is.
 *
 * Invariant: a plan counts once. From when it is made until the cell shows its hold, or it is refused (`unassume`), its
 * replica is assumed in the cell like any placement, and here each victim is spoken for and what it gives to the hold
 * is not counted twice. The authority evicts victims and moves the replica to Scheduled in one transaction, and what is
 * in flight here ends with the assumption: no planner ever sees neither or both.
 */
export class CellPreemption implements PreemptionCell {
  readonly #occupancy: Occupancy;
  readonly #rules = new Map<ClassKey, RoomlessRules>();
  readonly #left = new Map<string, number>();
  #look: 'None' | 'UnderWay' | 'Done' = 'None';
  readonly #inFlight = new Map<
    string,
    { readonly plan: PreemptionPlan; readonly victims: readonly SpokenFor[] }
  >();

  readonly #planned = new WeakMap<
    OccupiedNode,
    { readonly victims: readonly SpokenFor[]; readonly made: OccupiedNode }
  >();

  constructor(
    private readonly cell: CellState,
    private readonly options: { readonly seed: number } & VerdictOptions,
  ) {
    this.#occupancy = new Occupancy(cell, options.seed);
  }

  isReady(): boolean {
    // After a look it is, whatever has changed meanwhile: that is little, and it would never come to an end otherwise.
    if (this.#look === 'Done') this.#look = 'None';
    else {
      this.#occupancy.refresh();
      if (this.#occupancy.catchUp(0) > nodesPerLook) this.#look = 'UnderWay';
    }
    return this.#look === 'None';
  }

  /** A planner found it not ready and nobody has asked since. */
  get isLooking(): boolean {
    return this.#look === 'UnderWay';
  }

  /** Goes on looking at what has changed, for one stretch. Whether it is ready now. */
  look(): boolean {
    this.#occupancy.refresh();
    if (this.#occupancy.catchUp(nodesPerLook) <= nodesPerLook) this.#look = 'Done';
    return this.#look === 'Done';
  }

  classOf(classKey: ClassKey): PreemptingClass | undefined {
    const spec = this.cell.revision(classKey)?.spec;
    if (spec === undefined) return undefined;
    const { resources } = spec.template;
    const tenant = classKey.slice(0, classKey.indexOf('/'));
    const priority = this.cell.priorityClasses.get(spec.priorityClassName ?? 'default');
    return {
      tenant,
      workload: spec.workload,
      amount: amountOf(amountsAsked(resources)),
      ports: (resources?.ports ?? []).flatMap((port) =>
        port.includes(':') ? [Number(port.split(':')[1])] : [],
      ),
      priority: priority ?? { value: 0 },
      isDaemon: this.cell.workload(tenant, spec.workload).stored?.spec.type === 'Daemon',
    };
  }

  *nodesFor(classKey: ClassKey): Generator<OccupiedNode> {
    const { nodes } = this.cell;
    this.#occupancy.refresh();
    this.#rules.clear();
    this.#left.clear();
    const spokenFor = this.#spokenFor();
    const rules = this.#rulesOf(classKey);
    if (rules === undefined) return;
    for (let row = 0; row < nodes.rows; row += 1) {
      if (!nodes.takesWork(row) || !rules.takes(row)) continue;
      const node = this.#occupancy.at(row);
      if (node === undefined) continue;
      const victims = spokenFor.get(node.name);
      yield victims === undefined ? node : this.#afterPlans(node, victims);
    }
  }

  refusal(classKey: ClassKey, node: string): ParkReason | undefined {
    const row = this.cell.nodes.rowOf(node);
    if (row === undefined) return 'NoNode';
    const rules = this.#rulesOf(classKey);
    return rules === undefined ? 'ReplicaChanged' : rules.refusal(row);
  }

  disruptionsLeft(workload: string): number {
    let left = this.#left.get(workload);
    if (left === undefined) this.#left.set(workload, (left = this.#countLeft(workload)));
    return left;
  }

  #countLeft(workload: string): number {
    const [tenant = '', name = ''] = workload.split('/');
    const { stored, account } = this.cell.workload(tenant, name);
    let left = (stored?.spec.disruption?.maxUnavailable ?? 1) - account.disrupted;
    for (const { victims } of this.#inFlight.values())
      for (const { occupant, isLimited } of victims)
        if (isLimited && occupant.workload === workload) left -= 1;
    return left;
  }

  accountOf(tenant: string): TenantAccount {
    return this.cell.tenantAccount(tenant);
  }

  tenantSpec(tenant: string): TenantSpec | undefined {
    return this.cell.tenant(tenant).spec;
  }

  assume(plan: PreemptionPlan, victims: readonly SpokenFor[]): void {
    this.cell.assume(plan);
    // What is around is counted again when somebody asks.
    this.#rules.clear();
    this.#left.clear();
    this.#inFlight.set(`${plan.replica.tenant}/${plan.replica.name}`, { plan, victims });
  }

  #rulesOf(classKey: ClassKey): RoomlessRules | undefined {
    const known = this.#rules.get(classKey);
    if (known !== undefined) return known;
    const made = roomlessRules(this.cell, classKey, this.options);
    if (made !== undefined) this.#rules.set(classKey, made);
    return made;
  }

  /** The same object as long as node and plans are the same: who looks at very many nodes knows those it has seen. */
  #afterPlans(node: OccupiedNode, victims: readonly SpokenFor[]): OccupiedNode {
    const known = this.#planned.get(node);
    if (known?.victims.length === victims.length && victims.every((one, at) => one === known.victims[at]))
      return known.made;
    const made = withPlans(node, victims);
    this.#planned.set(node, { victims, made });
    return made;
  }

  /** The victims of plans in flight, by node. */
  #spokenFor(): ReadonlyMap<string, readonly SpokenFor[]> {
    const byNode = new Map<string, readonly SpokenFor[]>();
    for (const [key, { plan, victims }] of this.#inFlight) {
      if (this.cell.isAssumed(plan.replica))
        byNode.set(plan.node, [...(byNode.get(plan.node) ?? []), ...victims]);
      else this.#inFlight.delete(key);
    }
    return byNode;
  }
}

/** What plans in flight have made of a node: as the authority will leave it. */
function withPlans(node: OccupiedNode, victims: readonly SpokenFor[]): OccupiedNode {
  const awaitedOf = new Map(victims.map(({ occupant, awaited }) => [occupant.replica.uid, awaited]));
  const isFree = ({ replica }: Occupant): boolean => !awaitedOf.has(replica.uid);
  const asAwaited = (occupant: Occupant): Occupant => {
    const awaited = awaitedOf.get(occupant.replica.uid);
    return awaited === undefined ? occupant : { ...occupant, awaited };
  };
  return withOccupants(node, {
    // The replica is assumed whole; what its victims still use is in the account already.
    used: subtractAmounts(
      node.used,
      victims.reduce((sum: Amount, { awaited }) => addAmounts(sum, awaited), {}),
    ),
    running: node.running.filter(isFree),
    leaving: [...node.leaving, ...node.running.filter((occupant) => !isFree(occupant))].map(asAwaited),
  });
}
