import type { Env } from '../env/env.js';
import { wallTimestamp } from '../env/instant.js';
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

/** Asks for time and chance only when the operation does, and then once, however often it is decided again. */
export class OperationContext implements Context {
  #at: string | undefined;
  #uid: string | undefined;

  constructor(
    private readonly env: Env,
    readonly checks: Checks,
    readonly cell: number,
  ) {}

  get at(): string {
    return (this.#at ??= wallTimestamp(this.env.clock.wall()).replace(/\.\d+Z$/, 'Z'));
  }

  get uid(): string {
    return (this.#uid ??= this.env.uuid());
  }
}

export const nextEpoch = (cell: number, before: Epoch | undefined): Epoch =>
  before === undefined || before.cell < cell
    ? { cell, number: 1 }
    : { cell: before.cell, number: before.number + 1 };
