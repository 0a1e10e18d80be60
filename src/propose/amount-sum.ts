import { addAmounts, type Amount } from '../model/amount.js';

/** An amount that is added to in place: every placement does, and nobody keeps what it was before. */
export class AmountSum {
  #cpuMilli = 0;
  #memoryBytes = 0;
  #replicas = 0;
  readonly #devices = new Map<string, number>();

  add({ cpuMilli = 0, memoryBytes = 0, replicas = 0, devices }: Amount, times: number): void {
    this.#cpuMilli += times * cpuMilli;
    this.#memoryBytes += times * memoryBytes;
    this.#replicas += times * replicas;
    if (devices === undefined) return;
    for (const [name, count] of Object.entries(devices))
      this.#devices.set(name, (this.#devices.get(name) ?? 0) + times * count);
  }

  /** An amount and this together. */
  on(amount: Amount): Amount {
    return addAmounts(amount, {
      cpuMilli: this.#cpuMilli,
      memoryBytes: this.#memoryBytes,
      replicas: this.#replicas,
      ...(this.#devices.size > 0 && { devices: Object.fromEntries(this.#devices) }),
    });
  }
}
