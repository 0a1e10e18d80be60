import type { Env } from '../env/env.js';
import { wallMs, wallTimestamp } from '../env/instant.js';
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

/** Now to the second, as people read it; written once a second and not for each operation. */
export class Seconds {
  #second = -1;
  #written = '';

  constructor(private readonly env: Env) {}

  now(): string {
    const now = this.env.clock.wall();
    const second = Math.floor(wallMs(now) / 1_000);
    if (second !== this.#second) {
      this.#second = second;
      this.#written = wallTimestamp(now).replace(/\.\d+Z$/, 'Z');
    }
    return this.#written;
  }
}

/** Asks for time and chance only when the operation does, and then once, however often it is decided again. */
export class OperationContext implements Context {
  #at: string | undefined;
  #uid: string | undefined;

  constructor(
    private readonly env: Env,
    private readonly seconds: Seconds,
    readonly checks: Checks,
    readonly cell: number,
  ) {}

  get at(): string {
    return (this.#at ??= this.seconds.now());
  }

  get uid(): string {
    return (this.#uid ??= this.env.uuid());
  }
}

export const nextEpoch = (cell: number, before: Epoch | undefined): Epoch =>
  before === undefined || before.cell < cell
    ? { cell, number: 1 }
    : { cell: before.cell, number: before.number + 1 };
