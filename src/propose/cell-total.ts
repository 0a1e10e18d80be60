import { addAmounts, type Amount, sameAmount, subtractAmounts } from '../model/amount.js';
import type { NodeAccount } from '../model/records.js';

/** What all nodes together offer, kept as accounts come and go. */
export class CellTotal {
  readonly #offers = new Map<string, Amount>();
  #total: Amount = {};

  get amount(): Amount {
    return this.#total;
  }

  /** Whether that changed the total. */
  set(node: string, account: NodeAccount | undefined): boolean {
    const before = this.#offers.get(node);
    const after = account?.allocatable;
    // Every bind changes an account, and hardly any what it offers.
    if (before === after || (before !== undefined && after !== undefined && sameAmount(before, after)))
      return false;
    this.#total = addAmounts(subtractAmounts(this.#total, before ?? {}), after ?? {});
    if (after === undefined) this.#offers.delete(node);
    else this.#offers.set(node, after);
    return true;
  }
}
