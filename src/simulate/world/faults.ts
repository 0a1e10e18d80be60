import type { CallFault, FaultKind, FaultPlan, StartFault } from './fault-plan.js';

/** Says whether a fault strikes, and counts those that did. After `stop` none does. */
export class Faults {
  readonly counts = new Map<FaultKind, number>();
  #isStopped = false;

  constructor(private readonly plan: FaultPlan) {}

  strikes(kind: CallFault | StartFault, random: { chance(probability: number): boolean }): boolean {
    const rate = this.plan.rates[kind] ?? 0;
    if (this.#isStopped || rate === 0 || !random.chance(rate)) return false;
    this.count(kind);
    return true;
  }

  count(kind: FaultKind): void {
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1);
  }

  stop(): void {
    this.#isStopped = true;
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }
}
