import { type EpochPair, type OperationInput, type OperationName, operationTable } from './operations.js';
import type { Actor, ReleaseProof } from './ports.js';
import type { Reason } from './reasons.js';
import { type Epoch, isOlderEpoch, shownEpoch } from './records.js';

/** A copy of an operation that names another epoch, or another lease, than the operation itself. */
export interface StaleCopy<Input> {
  /** The epoch that differs; undefined: the lease differs and not its epoch. */
  readonly pair: EpochPair | undefined;
  /** The difference, in words. */
  readonly instead: string;
  /** The copy can never be right. The other copies are wrong for as long as the operation itself is right. */
  readonly isPast: boolean;
  /** The reason for which the authority refuses it. */
  readonly reason: Reason;
  readonly input: Input;
}

/** Some lease of the cell, with its current epoch. */
export interface NamedEpoch {
  readonly name: string;
  readonly epoch: Epoch;
}

/** The fields of inputs that the table of operations knows. */
interface Fields {
  readonly actor?: Actor;
  readonly nodeEpoch?: Epoch;
  readonly holder?: string;
  readonly epoch?: Epoch;
  readonly fence?: unknown;
  readonly proof?: ReleaseProof;
}

interface Difference {
  readonly instead: string;
  readonly isPast: boolean;
  readonly change: Fields;
}

/**
 * Every copy of an operation under an epoch that is over, or that is not the one it must name. `others` are leases of
 * the cell whose epochs and names the copies borrow. The authority refuses all of them.
 */
export function staleCopies<K extends OperationName>(
  operation: K,
  input: OperationInput<K>,
  others: readonly NamedEpoch[],
): readonly StaleCopy<OperationInput<K>>[] {
  const fields = input as Fields;
  // A copy has every field of the input, so that it is one of the same operation.
  const copyOf = (change: Fields): OperationInput<K> => ({ ...fields, ...change }) as OperationInput<K>;
  const under = Object.entries(operationTable[operation].epochs as Readonly<Record<string, Reason | 'none'>>);
  const epochs = under.flatMap(([epoch, reason]) =>
    reason === 'none'
      ? []
      : differencesOf(epoch, fields, others).map(({ change, ...difference }) => ({
          ...{ pair: `${operation}.${epoch}` as EpochPair, ...difference, reason },
          input: copyOf(change),
        })),
  );
  const leases = otherLeases(fields.actor, others).map(({ change, ...difference }) => ({
    ...{ pair: undefined, ...difference, reason: 'NotOwner' as const },
    input: copyOf(change),
  }));
  return [...epochs, ...leases];
}

function differencesOf(sort: string, fields: Fields, others: readonly NamedEpoch[]): readonly Difference[] {
  const { actor, nodeEpoch, epoch, holder, fence, proof } = fields;
  switch (sort) {
    case 'actor': {
      const lease = actor?.lease;
      if (actor === undefined || lease === undefined) return [];
      return otherEpochs(lease.epoch, others, (other) => ({
        actor: { ...actor, lease: { ...lease, epoch: other } },
      }));
    }
    case 'node':
      return otherEpochs(nodeEpoch, others, (other) => ({ nodeEpoch: other }));
    case 'lease':
      return [
        ...otherEpochs(epoch, others, (other) => ({ epoch: other })),
        { instead: 'another holder', isPast: true, change: { holder: `not ${holder}` } },
      ];
    case 'fence':
      return ['0', '', String(Number(fence) - 1)].map((other) => ({
        ...{ instead: `the fence ${JSON.stringify(other)}`, isPast: true, change: { fence: other } },
      }));
    case 'journal':
      return proof?.kind !== 'JournalExpired'
        ? []
        : otherEpochs(proof.journalSince, others, (other) => ({ proof: { ...proof, journalSince: other } }));
    default:
      // `open` is no field of the input: somebody closes the epoch.
      return [];
  }
}

/** Epochs that may not stand for this one, none of them twice. */
function otherEpochs(
  current: Epoch | undefined,
  others: readonly NamedEpoch[],
  change: (other: Epoch) => Fields,
): readonly Difference[] {
  if (current === undefined) return [];
  const { cell, number } = current;
  const named: readonly (readonly [what: string, epoch: Epoch])[] = [
    ['the epoch before', { cell, number: number - 1 }],
    ['the epoch before that', { cell, number: number - 2 }],
    ['the epoch of nobody', { cell, number: 0 }],
    ['the same number of the incarnation before', { cell: cell - 1, number }],
    ['a larger number of the incarnation before', { cell: cell - 1, number: number + 1 }],
    ['the next epoch', { cell, number: number + 1 }],
    ...others.map(({ name, epoch }) => [`the epoch of lease ${name}`, epoch] as const),
  ];
  const seen = new Set([shownEpoch(current)]);
  return named.flatMap(([what, epoch]) => {
    const shown = shownEpoch(epoch);
    if (epoch.number < 0 || epoch.cell < 0 || seen.has(shown)) return [];
    seen.add(shown);
    const isPast = isOlderEpoch(epoch, current);
    return [{ instead: `${what}, ${shown}`, isPast, change: change(epoch) }];
  });
}

/** No lease where the actor needs one, a lease of others, a lease where a person acts. */
function otherLeases(actor: Actor | undefined, others: readonly NamedEpoch[]): readonly Difference[] {
  if (actor === undefined) return [];
  const { lease, ...rest } = actor;
  const own = actor.kind === 'preemption' ? 'scheduler' : actor.kind;
  const [other] = others.filter(({ name }) => !name.startsWith(own));
  return [
    ...(lease === undefined ? [] : [{ instead: 'no lease', isPast: true, change: { actor: rest } }]),
    ...(other === undefined
      ? []
      : [{ instead: `the lease ${other.name}`, isPast: true, change: { actor: { ...rest, lease: other } } }]),
  ];
}
