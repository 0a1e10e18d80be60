import type { Epoch } from '../model/records.js';
import type { Checks } from './checks.js';

/** What an operation knows besides its input and its draft: when it was asked for, and what is particular to the cell. */
export interface Context {
  readonly checks: Checks;
  /** Now, for people to read. */
  readonly at: string;
  /** A fresh uid, for what the operation creates. */
  readonly uid: string;
  /** The incarnation of the cell. */
  readonly cell: number;
}

export const nextEpoch = (cell: number, before: Epoch | undefined): Epoch =>
  before === undefined || before.cell < cell
    ? { cell, number: 1 }
    : { cell: before.cell, number: before.number + 1 };
