import type { Replica } from '../../model/kinds/replica.js';
import type { Workload } from '../../model/kinds/workload.js';
import type { Slots } from '../workload/slot.js';
import { stageOf } from '../workload/slot-wishes.js';
import type { Leavers } from './leavers.js';

/** What a drain looks at to find out whether a replica can be spared. */
export interface SpareInput {
  readonly workload: Workload | undefined;
  readonly slots: Slots;
  readonly leavers: Pick<Leavers, 'has' | 'size'>;
}

/**
 * The authority counts what voluntary causes took away. Replicas that are lost, crash or have not found a place are away too:
 * a drain that took the others on top of them would leave nobody to serve. This counts both, as far as the cache shows them.
 * Batches have no such limit, since nobody is sent to their replicas, nor have daemons, whose replicas leave with their nodes.
 */
export class SpareReplicas {
  readonly #desired: number;
  readonly #most: number;
  readonly #isLimited: boolean;
  /** How many slots had a replica that serves when they were looked at, those that have been asked to leave included. */
  readonly #seen: number;

  constructor(private readonly input: SpareInput) {
    const { workload, slots } = input;
    const { type = 'Service', replicas = 1, disruption } = workload?.spec ?? {};
    this.#isLimited = workload !== undefined && type === 'Service';
    this.#desired = replicas;
    this.#most = disruption?.maxUnavailable ?? 1;
    let seen = 0;
    for (const [slot, { newest, older }] of slots)
      if (Number(slot) < replicas && (serves(newest) || older.some(serves))) seen += 1;
    this.#seen = seen;
  }

  /** Whether the workload loses a replica that serves when this one leaves. */
  isMissed(replica: Replica): boolean {
    return this.#isLimited && serves(replica) && Number(replica.spec.slot) < this.#desired;
  }

  /** Why this one may not be asked to leave now. One that was asked to already may be asked again. */
  whyNot(replica: Replica): string | undefined {
    if (!this.#isLimited || !serves(replica) || this.input.leavers.has(replica.metadata.uid))
      return undefined;
    if (this.#desired - this.#serving < this.#most) return undefined;
    const name = this.input.workload?.metadata.name ?? '';
    return `${this.servingText} replicas of ${name} serve; at most ${this.#most} may be away at once`;
  }

  /** `3 of 4`: how many serve, of how many that should. */
  get servingText(): string {
    return `${this.#serving} of ${this.#desired}`;
  }

  get #serving(): number {
    return this.#seen - this.input.leavers.size;
  }
}

const serves = (replica: Replica): boolean => stageOf(replica) === 'Serving';
