import { BerthError } from '../model/errors.js';
import type { Transaction, TransactOutcome } from './contract.js';

/** A transaction that has been accepted and not yet judged. */
export interface Arrival {
  readonly transaction: Transaction;
  readonly bytes: number;
  readonly resolve: (outcome: TransactOutcome) => void;
  readonly reject: (error: Error) => void;
}

// Callers past these are told to come back: memory stays bounded when the disk is slower than they are.
const waitingMax = 20_000;
const waitingBytesMax = 256 * 1024 * 1024;
// Taken arrivals are let go of in steps of this many.
const trimEvery = 1_024;

/** What waits for its turn, first come, first served, bounded in number and in bytes. */
export class TransactionQueue {
  #arrivals: (Arrival | undefined)[] = [];
  #next = 0;
  #bytes = 0;

  get size(): number {
    return this.#arrivals.length - this.#next;
  }

  push(arrival: Arrival): void {
    if (this.size >= waitingMax || this.#bytes + arrival.bytes > waitingBytesMax) {
      throw new BerthError(
        'StoreOverloaded',
        `${this.size} transactions of ${this.#bytes} bytes wait for the disk; ${waitingMax} and ${waitingBytesMax} are allowed`,
      );
    }
    this.#arrivals.push(arrival);
    this.#bytes += arrival.bytes;
  }

  shift(): Arrival | undefined {
    const arrival = this.#arrivals[this.#next];
    if (arrival === undefined) return undefined;
    this.#arrivals[this.#next] = undefined;
    this.#next += 1;
    this.#bytes -= arrival.bytes;
    if (this.#next >= trimEvery || this.size === 0) {
      this.#arrivals.splice(0, this.#next);
      this.#next = 0;
    }
    return arrival;
  }

  /** Takes everything out. */
  drain(): Arrival[] {
    const left: Arrival[] = [];
    for (let arrival = this.shift(); arrival !== undefined; arrival = this.shift()) left.push(arrival);
    return left;
  }
}
