import type { Random } from '../../env/random.js';
import {
  type EpochPair,
  type OperationInput,
  type OperationName,
  operationTable,
} from '../../model/operations.js';
import type { Actor, Outcome } from '../../model/ports.js';
import { leaseKey, type LeaseRecord, nobody, sameEpoch } from '../../model/records.js';
import { type NamedEpoch, type StaleCopy, staleCopies } from '../../model/stale-copies.js';
import type { CellState, Violation } from '../checkers/checker.js';

/** A seed copies every operation until so many copies of the pair were refused for their epoch alone. */
const refusedEnough = 2;
/** After that it copies a few. */
const chanceOfMore = 0.02;

/** Stands for the epoch where a copy names another lease, or none. */
const leaseNamed = 'lease named';

/** The reason of a refusal: an older epoch of this pair, or that the lease of the actor was released. */
export type StaleSort = EpochPair | 'lease.released';

export interface StaleParts {
  readonly random: Random;
  readonly state: CellState;
  readonly onViolation: (violation: Violation) => void;
}

/**
 * [S8] Sends a copy of an operation under an epoch that is over, just before the operation itself. A copy that commits
 * breaks the rule. A copy that is refused, while the operation itself commits, was refused for its epoch alone: such
 * copies are counted. Every operation of the world passes here, so that the table of operations alone says what is tried.
 */
export class StaleOperations {
  /** Copies that were refused for their epoch alone. */
  readonly refused = new Map<StaleSort, number>();
  readonly #enough = new Set<string>();

  constructor(private readonly parts: StaleParts) {}

  /** Sends a copy, perhaps, and says what became of it when the outcome of the operation itself is known. */
  before<K extends OperationName>(
    operation: K,
    input: OperationInput<K>,
    send: (copy: OperationInput<K>) => Promise<Outcome<unknown>>,
  ): (itself: Outcome<unknown>) => void {
    const released = this.#releasedLease(input as { readonly actor?: Actor });
    if (released !== undefined)
      return (itself) => {
        this.#judge(operation, `the lease ${released}, which was released,`, itself);
        if (itself.kind === 'Rejected' && itself.reason === 'StaleEpoch') this.#count('lease.released');
      };
    const copy = this.#copyOf(operation, input);
    if (copy === undefined) return () => undefined;
    const answered = send(copy.input).then(
      (outcome) => {
        this.#judge(operation, `${copy.instead}, instead of what it must name,`, outcome);
        return outcome;
      },
      // The store refused the transaction: nothing was decided.
      () => undefined,
    );
    return (itself) => {
      const { pair } = copy;
      if (pair !== undefined && itself.kind === 'Committed')
        void answered.then((outcome) => {
          if (outcome?.kind === 'Rejected' && outcome.reason === copy.reason) this.#count(pair);
        });
    };
  }

  #count(pair: StaleSort): void {
    const refused = (this.refused.get(pair) ?? 0) + 1;
    this.refused.set(pair, refused);
    if (refused >= refusedEnough) this.#enough.add(pair);
  }

  #copyOf<K extends OperationName>(
    operation: K,
    input: OperationInput<K>,
  ): StaleCopy<OperationInput<K>> | undefined {
    const { random } = this.parts;
    const mayBeMore = random.chance(chanceOfMore);
    const sorts = [...Object.keys(operationTable[operation].epochs), leaseNamed];
    if (!mayBeMore && sorts.every((sort) => this.#enough.has(`${operation}.${sort}`))) return undefined;
    const keyOf = ({ pair }: StaleCopy<unknown>): string => pair ?? `${operation}.${leaseNamed}`;
    const copies = staleCopies(operation, input, this.#others()).filter(
      (copy) => copy.isPast && (mayBeMore || !this.#enough.has(keyOf(copy))),
    );
    if (copies.length === 0) return undefined;
    const unseen = copies.filter(({ pair }) => pair !== undefined && !this.refused.has(pair));
    const copy = random.pick(unseen.length === 0 ? copies : unseen);
    // Copies that name another lease are not counted: the first of each operation is enough.
    if (copy.pair === undefined) this.#enough.add(keyOf(copy));
    return copy;
  }

  /** Some leases of the cell. */
  #others(): readonly NamedEpoch[] {
    const prefix = leaseKey('');
    const leases = [...this.parts.state.under(prefix)].map(([key, value]) => ({
      name: key.slice(prefix.length),
      // A parsed boundary: only the authority writes under these keys.
      epoch: (value as LeaseRecord).epoch,
    }));
    return leases.length === 0 ? [] : [this.parts.random.pick(leases), this.parts.random.pick(leases)];
  }

  /** The lease that the actor names, if its holder released it: that is so for good. */
  #releasedLease({ actor }: { readonly actor?: Actor }): string | undefined {
    if (actor?.lease === undefined) return undefined;
    const { name, epoch } = actor.lease;
    // A parsed boundary: only the authority writes under this key.
    const lease = this.parts.state.get(leaseKey(name)) as LeaseRecord | undefined;
    return lease?.holder === nobody && sameEpoch(lease.epoch, epoch) ? name : undefined;
  }

  #judge(operation: OperationName, under: string, outcome: Outcome<unknown>): void {
    if (outcome.kind !== 'Committed') return;
    this.parts.onViolation({
      rule: 'S8',
      revision: Number(outcome.revision),
      message: `${operation} under ${under} was committed`,
    });
  }
}
