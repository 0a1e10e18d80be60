import { addAmounts, type Amount, sameAmount, subtractAmounts } from '../model/amount.js';
import type { NodeAccount } from '../model/records.js';

/** What all nodes together offer, kept as accounts come and go. */
export class CellTotal {
  #total: Amount = {};

  get amount(): Amount {
    return this.#total;
  }

  /** The account of a node was one and is another. Whether that changed the total. */
  move(from: NodeAccount | undefined, to: NodeAccount | undefined): boolean {
    const before = from?.allocatable;
    const after = to?.allocatable;
    // Every bind changes an account, and hardly any what it offers.
    if (before === after || (before !== undefined && after !== undefined && sameAmount(before, after)))
      return false;
    this.#total = addAmounts(subtractAmounts(this.#total, before ?? {}), after ?? {});
    return true;
  }
}
