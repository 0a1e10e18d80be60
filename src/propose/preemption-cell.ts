import type { Amount } from '../model/amount.js';
import type { PriorityClassSpec } from '../model/kinds/priority-class.js';
import type { TenantSpec } from '../model/kinds/tenant.js';
import type { TenantAccount } from '../model/records.js';
import type { ClassKey, PreemptionPlan } from './contract.js';
import type { Occupant, OccupiedNode } from './occupants.js';
import type { ParkReason } from './queue/cures.js';

/** What planning needs to know of a class. */
export interface PreemptingClass {
  readonly tenant: string;
  readonly workload: string;
  readonly amount: Amount;
  /** Ports that it asks for by number. */
  readonly ports: readonly number[];
  readonly priority: Pick<PriorityClassSpec, 'value' | 'preemption'>;
  /** Each replica goes to the node that its slot is named after, or nowhere. */
  readonly isDaemon: boolean;
}

/** The cell as preemption looks at it, with what is on its way. */
export interface PreemptionCell {
  /** Whether it can be asked now. If not, too much has changed for one look, and it is being looked at in stretches. */
  isReady(): boolean;
  classOf(classKey: ClassKey): PreemptingClass | undefined;
  /** Nodes that every filter lets the class onto, but for room: resources, devices and ports. */
  nodesFor(classKey: ClassKey): Iterable<OccupiedNode>;
  /**
   * Why neighbours, its age or custom filters do not let one more of the class onto it, what was assumed counted;
   * undefined if they do. Victims count as long as they have not ended: that is how the authority sees it when it holds.
   */
  refusal(classKey: ClassKey, node: string): ParkReason | undefined;
  /** How many more replicas of `TENANT/WORKLOAD` may be disrupted now. */
  disruptionsLeft(workload: string): number;
  accountOf(tenant: string): TenantAccount;
  tenantSpec(tenant: string): TenantSpec | undefined;
  /**
   * Counts a plan that is on its way, in all that is asked afterwards: its replica as placed and charged, each victim as
   * spoken for.
   */
  assume(plan: PreemptionPlan, victims: readonly SpokenFor[]): void;
}

/** A victim, and what of it goes to the hold it makes room for. */
export interface SpokenFor {
  readonly occupant: Occupant;
  readonly awaited: Amount;
  /** Its eviction counts against the limit of its workload. */
  readonly isLimited: boolean;
}
