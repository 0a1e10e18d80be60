import type { Actor, Authority, ReleaseProof } from './ports.js';
import type { Reason } from './reasons.js';
import type { Epoch } from './records.js';

export type OperationName = keyof Authority;

/** The input of one operation. `bind` takes a list of inputs: one of them. */
export type OperationInput<K extends OperationName> = {
  [O in K]: Parameters<Authority[O]>[0] extends readonly (infer One)[] ? One : Parameters<Authority[O]>[0];
}[K];

/** The sender of an operation: the actor that its input names, an agent, or the holder of the lease that the input names. */
export type Sender = Actor['kind'] | 'holder';

/**
 * The epochs that an input names. The transaction compares each with the stored one (S8).
 * - actor: the epoch of the lease that the actor acts under
 * - node: the epoch of the node
 * - open: that nobody has closed that epoch of the node
 * - lease: the epoch and the holder of the lease that the input names
 * - fence: the fence of the replica's binding
 * - journal: the epoch since which the node has its journal
 */
type EpochsIn<Input> =
  | (Input extends { readonly actor: Actor } ? 'actor' : never)
  | (Input extends { readonly nodeEpoch: Epoch } ? 'node' | 'open' : never)
  | (Input extends { readonly holder: string; readonly epoch: Epoch } ? 'lease' | 'open' : never)
  | (Input extends { readonly fence: string } ? 'fence' : never)
  | (Input extends { readonly proof: ReleaseProof } ? 'journal' : never);

interface OperationRow<Input> {
  /** Every sender there may be. The operation itself may refuse some inputs of some senders. */
  readonly senders: readonly Sender[];
  /** The reason of the refusal if the input names another epoch than the current one. `none`: not compared, and why. */
  readonly epochs: Readonly<Record<EpochsIn<Input>, Reason | 'none'>>;
}

/**
 * Every operation of the authority: who may send it, and under which epochs. The authority asks this table for the
 * senders; tests and the simulator make an operation under an older epoch of every entry of `epochs`. An operation
 * without a row, or an input with an epoch that its row leaves out, does not compile.
 */
export const operationTable = {
  // Makes an epoch and names none: the proof that the last holder may be passed over is a revision.
  takeLease: { senders: ['holder'], epochs: {} },
  renew: { senders: ['holder'], epochs: { lease: 'StaleEpoch', open: 'StaleEpoch' } },
  // A node whose epoch was closed may give its lease up: that permits nothing.
  resign: { senders: ['holder'], epochs: { lease: 'StaleEpoch', open: 'none' } },
  // Makes an epoch and names none.
  register: { senders: ['agent'], epochs: {} },
  incarnate: { senders: ['workload-controller'], epochs: { actor: 'StaleEpoch' } },
  reserve: {
    senders: ['scheduler'],
    epochs: { actor: 'StaleEpoch', node: 'NodeChanged', open: 'NodeChanged' },
  },
  bind: {
    senders: ['scheduler'],
    epochs: { actor: 'StaleEpoch', node: 'NodeChanged', open: 'NodeChanged' },
  },
  postpone: { senders: ['scheduler'], epochs: { actor: 'StaleEpoch' } },
  report: { senders: ['agent'], epochs: { node: 'StaleEpoch', open: 'StaleEpoch', fence: 'NotOwner' } },
  evict: {
    senders: ['rollout', 'drain', 'preemption', 'repair-controller', 'user', 'workload-controller'],
    epochs: { actor: 'StaleEpoch' },
  },
  move: {
    senders: ['workload-controller', 'endpoints-controller', 'repair-controller'],
    epochs: { actor: 'StaleEpoch' },
  },
  release: {
    senders: ['repair-controller', 'workload-controller'],
    epochs: { actor: 'StaleEpoch', journal: 'NodeChanged' },
  },
  releaseHold: { senders: ['scheduler', 'collector'], epochs: { actor: 'StaleEpoch' } },
  publish: { senders: ['endpoints-controller'], epochs: { actor: 'StaleEpoch' } },
  withdraw: { senders: ['endpoints-controller'], epochs: { actor: 'StaleEpoch' } },
  gate: { senders: ['detector'], epochs: { actor: 'StaleEpoch', node: 'NodeChanged', open: 'NodeChanged' } },
  grant: { senders: ['grant-controller'], epochs: { actor: 'StaleEpoch' } },
  // A person may attest a node whose epoch was closed: the attestation closes it anyway.
  attest: {
    senders: ['operator', 'repair-controller'],
    epochs: { actor: 'StaleEpoch', node: 'NodeChanged', open: 'none' },
  },
  // Only a person sends it, and a person acts under no lease.
  setFence: { senders: ['operator'], epochs: { actor: 'none' } },
  settleFence: { senders: ['repair-controller'], epochs: { actor: 'StaleEpoch' } },
  remark: { senders: ['repair-controller'], epochs: { actor: 'StaleEpoch' } },
  moveGang: { senders: ['scheduler', 'collector'], epochs: { actor: 'StaleEpoch' } },
  forget: { senders: ['workload-controller', 'collector'], epochs: { actor: 'StaleEpoch' } },
  removeNode: { senders: ['repair-controller'], epochs: { actor: 'StaleEpoch' } },
} as const satisfies { readonly [K in OperationName]: OperationRow<OperationInput<K>> };

export const operationNames = Object.keys(operationTable) as readonly OperationName[];

type Table = typeof operationTable;

/** The operations that compare an epoch of this sort. */
export type OperationUnder<E extends string> = {
  [K in OperationName]: Table[K]['epochs'] extends { readonly [e in E]: Reason } ? K : never;
}[OperationName];

/** An epoch of an operation, as `OPERATION.EPOCH`. */
export type EpochPair = {
  [K in OperationName]: {
    [E in keyof Table[K]['epochs'] & string]: Table[K]['epochs'][E] extends 'none' ? never : `${K}.${E}`;
  }[keyof Table[K]['epochs'] & string];
}[OperationName];

/** Every epoch that an operation compares. */
export const epochPairs: readonly EpochPair[] = operationNames.flatMap((operation) =>
  Object.entries(operationTable[operation].epochs)
    .filter(([, reason]) => reason !== 'none')
    .map(([epoch]) => `${operation}.${epoch}` as EpochPair),
);
