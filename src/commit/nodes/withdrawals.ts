import type { Env, Timer } from '../../env/env.js';
import type { Replica } from '../../model/kinds/replica.js';
import { awaitsWithdrawal, withdrawWaitMs } from '../../model/withdrawal.js';

/**
 * Which replicas that shall stop their nodes are not told so yet, because clients may still be sent to them. Each wait
 * is counted here, from when this process first saw it, and ends: then the node is told all the same.
 */
export class Withdrawals {
  // By uid. Without a timer: its wait is over.
  readonly #waits = new Map<string, Timer | undefined>();

  constructor(
    private readonly parts: {
      readonly env: Env;
      readonly onOver: (replica: Replica) => void;
    },
  ) {}

  /** Whether the node of this replica must not hear yet that it shall stop. */
  isHeld(replica: Replica): boolean {
    const { uid } = replica.metadata;
    if (!awaitsWithdrawal(replica)) {
      this.forget(uid);
      return false;
    }
    if (this.#waits.has(uid)) return this.#waits.get(uid) !== undefined;
    const { env, onOver } = this.parts;
    const timer = env.after(withdrawWaitMs, () => {
      this.#waits.set(uid, undefined);
      onOver(replica);
    });
    this.#waits.set(uid, timer);
    return true;
  }

  forget(uid: string): void {
    this.#waits.get(uid)?.cancel();
    this.#waits.delete(uid);
  }

  close(): void {
    for (const timer of this.#waits.values()) timer?.cancel();
    this.#waits.clear();
  }
}
