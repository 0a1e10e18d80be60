import type { Amount } from '../../model/amount.js';

interface Held {
  weight: number;
  isGuaranteed: boolean;
  used: Amount;
  // What turns have handed out and the account does not show yet.
  cpuMilli: number;
  memoryBytes: number;
  readonly devices: Map<string, number>;
}

/**
 * How much of the cell each tenant has: the largest of its shares of one resource, with what is on its way, divided by
 * its weight. The tenant with the smallest goes first.
 */
export class TenantShares {
  readonly #tenants = new Map<string, Held>();
  #total: Amount = {};

  /** What all nodes together offer. */
  setTotal(total: Amount): void {
    this.#total = total;
  }

  setWeight(tenant: string, weight: number): void {
    this.#held(tenant).weight = weight;
  }

  setGuaranteed(tenant: string, isGuaranteed: boolean): void {
    this.#held(tenant).isGuaranteed = isGuaranteed;
  }

  /** Whether something is guaranteed to the tenant, so that a replica of it may rank above all that is borrowed. */
  isGuaranteed(tenant: string): boolean {
    return this.#tenants.get(tenant)?.isGuaranteed === true;
  }

  setUsed(tenant: string, used: Amount): void {
    this.#held(tenant).used = used;
  }

  /** So many were handed out; fewer than none: so many came back, or are in the account now. */
  assume(tenant: string, each: Amount, count: number): void {
    const held = this.#held(tenant);
    held.cpuMilli += (each.cpuMilli ?? 0) * count;
    held.memoryBytes += (each.memoryBytes ?? 0) * count;
    if (each.devices === undefined) return;
    for (const [name, devices] of Object.entries(each.devices))
      held.devices.set(name, (held.devices.get(name) ?? 0) + devices * count);
  }

  of(tenant: string): number {
    const { weight, used, cpuMilli, memoryBytes, devices } = this.#held(tenant);
    const total = this.#total;
    let most = Math.max(
      part((used.cpuMilli ?? 0) + cpuMilli, total.cpuMilli),
      part((used.memoryBytes ?? 0) + memoryBytes, total.memoryBytes),
    );
    // In place: asked for every replica that is handed out, and again when it is bound.
    for (const name in total.devices)
      most = Math.max(
        most,
        part((used.devices?.[name] ?? 0) + (devices.get(name) ?? 0), total.devices[name]),
      );
    return most / weight;
  }

  /** By how much one more of these can raise the share of a tenant at most. */
  stepOf(tenant: string, each: Amount): number {
    const total = this.#total;
    let most = Math.max(part(each.cpuMilli, total.cpuMilli), part(each.memoryBytes, total.memoryBytes));
    for (const [name, count] of Object.entries(each.devices ?? {}))
      most = Math.max(most, part(count, total.devices?.[name]));
    return most / this.#held(tenant).weight;
  }

  #held(tenant: string): Held {
    let held = this.#tenants.get(tenant);
    if (held === undefined) {
      held = { weight: 1, isGuaranteed: false, used: {}, cpuMilli: 0, memoryBytes: 0, devices: new Map() };
      this.#tenants.set(tenant, held);
    }
    return held;
  }
}

const part = (count = 0, whole = 0): number => (whole > 0 ? count / whole : 0);
