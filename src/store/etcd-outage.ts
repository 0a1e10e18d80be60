import type { Env } from '../env/env.js';
import { type MonotonicInstant, msBetween } from '../env/instant.js';
import { BerthError } from '../model/errors.js';

const probeEveryMs = 500;
// A caller that tries again without a pause would otherwise never let the probe have its turn.
const refusedAfterMs = 10;

/**
 * Knows whether the cluster answers at all. An outage begins when a request has waited its whole time without an answer
 * and no other request got one meanwhile. During an outage requests are refused at once: a caller that makes several
 * requests, or tries again, waits for the cluster only once. A probe ends the outage.
 *
 * Invariant: a refused request is never sent, and therefore never applied.
 */
export class EtcdOutage {
  readonly #stop = new AbortController();
  #answeredAt: MonotonicInstant;
  #outage: { readonly since: MonotonicInstant; readonly cause: Error } | undefined;

  constructor(
    private readonly parts: {
      readonly env: Env;
      /** Asks the cluster for something that only a majority can answer. Tells `answered` when it does. */
      readonly probe: () => Promise<unknown>;
    },
  ) {
    this.#answeredAt = parts.env.clock.monotonic();
  }

  get isOn(): boolean {
    return this.#outage !== undefined;
  }

  /** Throws during an outage. */
  async refuse(): Promise<void> {
    if (this.#outage === undefined) return;
    const { since, cause } = this.#outage;
    await this.parts.env.sleep(refusedAfterMs);
    const seconds = (msBetween(since, this.parts.env.clock.monotonic()) / 1000).toFixed(1);
    throw new BerthError('StoreUnavailable', `etcd has not answered for ${seconds}s: ${cause.message}`, {
      cause,
    });
  }

  /** A majority of the cluster has answered a request, whatever the answer was. */
  answered(): void {
    this.#answeredAt = this.parts.env.clock.monotonic();
    this.#outage = undefined;
  }

  /** A request that was made at `since` has waited its whole time without an answer. */
  unanswered(since: MonotonicInstant, cause: Error): void {
    if (this.#outage !== undefined || msBetween(since, this.#answeredAt) >= 0) return;
    this.#outage = { since, cause };
    void this.#probe();
  }

  close(): void {
    this.#stop.abort();
  }

  async #probe(): Promise<void> {
    const { env, probe } = this.parts;
    const { signal } = this.#stop;
    while (this.#outage !== undefined && !signal.aborted) {
      await probe().catch(() => undefined);
      if (this.#outage !== undefined) await env.sleep(probeEveryMs, signal).catch(() => undefined);
    }
  }
}
