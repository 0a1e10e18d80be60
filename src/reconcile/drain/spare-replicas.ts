import type { Replica } from '../../model/kinds/replica.js';
import type { Workload } from '../../model/kinds/workload.js';
import type { Slots } from '../workload/slot.js';
import { stageOf } from '../workload/slot-wishes.js';

/**
 * The authority counts what voluntary causes took away. Replicas that are lost, crash or have not found a place are away too:
 * a drain that took the others on top of them would leave nobody to serve. This counts both, as far as the cache shows them.
 * Batches have no such limit, since nobody is sent to their replicas, nor have daemons, whose replicas leave with their nodes.
 */
export class SpareReplicas {
  #serving = 0;
  readonly #desired: number;
  readonly #most: number;
  readonly #isLimited: boolean;

  constructor(
    private readonly workload: Workload | undefined,
    slots: Slots,
  ) {
    const { type = 'Service', replicas = 1, disruption } = workload?.spec ?? {};
    this.#isLimited = workload !== undefined && type === 'Service';
    this.#desired = replicas;
    this.#most = disruption?.maxUnavailable ?? 1;
    for (const [slot, { newest, older }] of slots)
      if (Number(slot) < replicas && (serves(newest) || older.some(serves))) this.#serving += 1;
  }

  /** Why this one may not be asked to leave now. One that does not serve takes nothing away. */
  whyNot(replica: Replica): string | undefined {
    if (!this.#isLimited || !serves(replica) || this.#desired - this.#serving < this.#most) return undefined;
    const name = this.workload?.metadata.name ?? '';
    return `${this.#serving} of ${this.#desired} replicas of ${name} serve; at most ${this.#most} may be away at once`;
  }

  left(replica: Replica): void {
    if (serves(replica)) this.#serving -= 1;
  }
}

const serves = (replica: Replica): boolean => stageOf(replica) === 'Serving';
