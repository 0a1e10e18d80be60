import type { Replica } from '../../model/kinds/replica.js';
import { factsOf, type ReplicaFacts } from './replica-facts.js';

/** The replicas of one slot. It changes as they do; lists in it are replaced, never changed. */
export interface Slot {
  /** NaN if it has no number but the name of a node, or is written as no number is. */
  readonly number: number;
  readonly newest: Replica;
  /** Those before it, newest first. */
  readonly older: readonly Replica[];
  /** Of the newest. Those of a neighbour, if they are alike. */
  facts(alike?: ReplicaFacts): ReplicaFacts;
}

export type Slots = ReadonlyMap<string, Slot>;

const none: readonly Replica[] = [];

/** Nearly every slot has one replica: nothing is made for others. */
export class ChangingSlot implements Slot {
  readonly number: number;
  #newest: Replica;
  #older = none;
  // Invariant: of #newest, once somebody has asked. Replicas are replaced, never changed.
  #facts: ReplicaFacts | undefined = undefined;

  constructor(replica: Replica) {
    const { slot } = replica.spec;
    const number = Number(slot);
    this.number = Number.isSafeInteger(number) && number >= 0 && String(number) === slot ? number : NaN;
    this.#newest = replica;
  }

  get newest(): Replica {
    return this.#newest;
  }

  get older(): readonly Replica[] {
    return this.#older;
  }

  facts(alike?: ReplicaFacts): ReplicaFacts {
    return (this.#facts ??= factsOf(this.#newest, alike));
  }

  /** Puts a replica in the place of the one with its name; false if there is none. */
  replace(replica: Replica): boolean {
    if (isSame(this.#newest, replica)) this.#setNewest(replica);
    else if (!this.#older.some((one) => isSame(one, replica))) return false;
    else this.#older = this.#older.map((one) => (isSame(one, replica) ? replica : one));
    return true;
  }

  /** Adds one whose name none of them has. */
  add(replica: Replica): void {
    const all = [this.#newest, ...this.#older, replica];
    const [newest = replica, ...older] = all.toSorted((a, b) => b.spec.incarnation - a.spec.incarnation);
    this.#setNewest(newest);
    this.#older = older;
  }

  has(replica: Replica): boolean {
    return isSame(this.#newest, replica) || this.#older.some((one) => isSame(one, replica));
  }

  /** Takes one away that is not the only one. */
  remove(replica: Replica): void {
    const [newest = replica, ...older] = [this.#newest, ...this.#older].filter(
      (one) => !isSame(one, replica),
    );
    this.#setNewest(newest);
    this.#older = older.length === 0 ? none : older;
  }

  #setNewest(replica: Replica): void {
    this.#newest = replica;
    this.#facts = undefined;
  }
}

const isSame = (one: Replica, other: Replica): boolean => one.metadata.name === other.metadata.name;
