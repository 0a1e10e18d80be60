import {
  type Epoch,
  isOlderEpoch,
  type LeaseRecord,
  type NodeAccount,
  nodeAccountKey,
  nobody,
  type NodeEpoch,
  nodeEpochKey,
  sameEpoch,
  shownEpoch,
} from '../../model/records.js';
import type { ReplicaTransition } from '../../model/kinds/replica.js';
import { stateBefore } from './before-state.js';
import { CellView } from './cell-view.js';
import type { CellState, Commit, CommittedChange, SafetyChecker, Violation } from './checker.js';
import { wrongTerm } from './lease-terms.js';
import { actorOf, appendedTransitions, replicaChanges } from './transitions.js';

/**
 * The lease under which each actor moves replicas: its own, or one of several that are named after it
 * (scheduler-eu). A person acts under none, an agent under its node's epoch.
 */
const leaseOfActor: Readonly<Record<string, string>> = {
  scheduler: 'scheduler',
  preemption: 'scheduler',
  'workload-controller': 'workload-controller',
  'endpoints-controller': 'endpoints-controller',
  'repair-controller': 'repair-controller',
  rollout: 'rollout',
  drain: 'drain',
  collector: 'collector',
};

/**
 * [S8] Whatever moved a replica did so under the current epoch of its lease or node, and of a lease that its holder had not
 * released; epochs only grow, and each lease says how its last term ended.
 */
export class Epochs implements SafetyChecker {
  readonly rule = 'S8';
  checked = 0;
  /** The newest epoch seen under each key; a key that was deleted must not start again below it. */
  readonly #newest = new Map<string, Epoch>();

  onCommit(commit: Commit, state: CellState): readonly Violation[] {
    const before = new CellView(stateBefore(commit, state));
    const after = new CellView(state);
    const moves = replicaChanges(commit).flatMap((change) =>
      (appendedTransitions(change) ?? []).flatMap((transition) => {
        this.checked += 1;
        const wrong = wrongEpoch(after, transition);
        // Another operation of the same transaction may have changed the epoch after this one.
        return wrong === undefined || wrongEpoch(before, transition) === undefined
          ? []
          : [`${change.key} to ${transition.to} by ${transition.actor}: ${wrong}`];
      }),
    );
    const epochs = commit.changes.flatMap((change) => this.#shrunk(change));
    const closed = commit.changes.flatMap((change) => [
      ...renewedClosed(before, after, change),
      ...openedClosed(before, after, change),
    ]);
    const named = nodesTouched(commit).flatMap((node) => wronglyNamed(after, node));
    return [...moves, ...epochs, ...closed, ...named].map((message) => this.#violation(state, message));
  }

  whole(state: CellState): readonly Violation[] {
    const violations: Violation[] = [];
    for (const prefix of ['/l/', '/e/'])
      for (const [key, value] of state.under(prefix)) {
        const { epoch } = value as LeaseRecord | NodeEpoch;
        const newest = this.#newest.get(key);
        if (newest !== undefined && isOlderEpoch(epoch, newest))
          violations.push(
            this.#violation(state, `${key} is at ${shownEpoch(epoch)} and was at ${shownEpoch(newest)}`),
          );
      }
    const cell = new CellView(state);
    for (const [key] of state.under(nodeAccountKey('')))
      for (const message of wronglyNamed(cell, key.slice(nodeAccountKey('').length)))
        violations.push(this.#violation(state, message));
    return violations;
  }

  #violation(state: CellState, message: string): Violation {
    return { rule: this.rule, revision: state.revision, message };
  }

  #shrunk({ key, before, after }: CommittedChange): readonly string[] {
    if (after === undefined || !(key.startsWith('/l/') || key.startsWith('/e/'))) return [];
    this.checked += 1;
    const { epoch } = after as LeaseRecord | NodeEpoch;
    const newest = this.#newest.get(key);
    if (newest !== undefined && isOlderEpoch(epoch, newest))
      return [`${key} went from epoch ${shownEpoch(newest)} back to ${shownEpoch(epoch)}`];
    this.#newest.set(key, epoch);
    const isSame = newest !== undefined && sameEpoch(epoch, newest);
    if (before === undefined)
      return isSame ? [`${key} was made again under its old epoch ${shownEpoch(epoch)}`] : [];
    if (key.startsWith('/l/')) return wrongTerm(key, before as LeaseRecord, after as LeaseRecord);
    return isSame ? sameState(key, before as NodeEpoch, after as NodeEpoch) : [];
  }
}

function sameState(key: string, before: NodeEpoch, after: NodeEpoch): readonly string[] {
  return before.state === 'Closed' && after.state === 'Open'
    ? [`${key}: epoch ${shownEpoch(after.epoch)} was closed and is open again`]
    : [];
}

/** What is wrong with the epoch a transition was made under, on the leases and epochs of a cell. */
function wrongEpoch(cell: CellView, transition: ReplicaTransition): string | undefined {
  const { kind, name } = actorOf(transition);
  const { epoch, evidence } = transition;
  if (kind === 'agent') {
    const current = cell.nodeEpoch(name);
    if (epoch === undefined) return 'it names no epoch';
    if (current === undefined || !sameEpoch(current.epoch, epoch))
      return `it acted under ${shownEpoch(epoch)}, node ${name} is at ${current ? shownEpoch(current.epoch) : 'none'}`;
    return current.state === 'Open' ? undefined : `epoch ${shownEpoch(epoch)} of node ${name} is closed`;
  }
  const leaseName = evidence?.['lease'];
  const expected = leaseOfActor[kind];
  if (epoch === undefined || leaseName === undefined)
    return expected === undefined && epoch === undefined && leaseName === undefined
      ? undefined
      : `it names epoch ${epoch ? shownEpoch(epoch) : 'none'} of lease ${leaseName ?? 'none'}`;
  if (expected !== undefined && leaseName !== expected && !leaseName.startsWith(`${expected}-`))
    return `it acted under lease ${leaseName}, not ${expected}`;
  const current = cell.lease(leaseName);
  if (current?.holder === nobody) return `it acted under lease ${leaseName}, which was released`;
  return current !== undefined && sameEpoch(current.epoch, epoch)
    ? undefined
    : `it acted under ${shownEpoch(epoch)} of lease ${leaseName}, which is at ${current ? shownEpoch(current.epoch) : 'none'}`;
}

/** A node whose epoch is closed renews nothing under it, and what a person attests closes it. */
function renewedClosed(before: CellView, after: CellView, change: CommittedChange): readonly string[] {
  const { key } = change;
  if (key.startsWith('/e/')) {
    const record = change.after as NodeEpoch | undefined;
    return record?.attestation !== undefined && record.state !== 'Closed'
      ? [`${key} is attested to have stopped and is still Open`]
      : [];
  }
  if (!key.startsWith('/l/node-')) return [];
  const node = key.slice('/l/node-'.length);
  const [was, is] = [change.before as LeaseRecord | undefined, change.after as LeaseRecord | undefined];
  const isRenewal = was !== undefined && is !== undefined && sameEpoch(was.epoch, is.epoch);
  const isClosed = [before, after].every((cell) => cell.nodeEpoch(node)?.state === 'Closed');
  return isRenewal && isClosed ? [`${key} was renewed under ${shownEpoch(is.epoch)}, which is closed`] : [];
}

/** The gate of a node whose epoch is closed stays closed until the node registers again. */
function openedClosed(before: CellView, after: CellView, change: CommittedChange): readonly string[] {
  const prefix = nodeAccountKey('');
  if (!change.key.startsWith(prefix)) return [];
  const node = change.key.slice(prefix.length);
  const [was, is] = [change.before as NodeAccount | undefined, change.after as NodeAccount | undefined];
  const isOpened = was?.gate.state === 'Closed' && is?.gate.state === 'Open';
  const isClosed = [before, after].every((cell) => cell.nodeEpoch(node)?.state === 'Closed');
  return isOpened && isClosed ? [`the gate in ${change.key} was opened; the node's epoch is closed`] : [];
}

const nodesTouched = ({ changes }: Commit): readonly string[] => [
  ...new Set(
    changes.flatMap(({ key }) => {
      const prefix = [nodeAccountKey(''), nodeEpochKey('')].find((start) => key.startsWith(start));
      return prefix === undefined ? [] : [key.slice(prefix.length)];
    }),
  ),
];

/** Who is placed under the epoch that an account names does not look at the epoch itself: it is that one, and open. */
function wronglyNamed(cell: CellView, node: string): readonly string[] {
  const named = cell.nodeAccount(node)?.epoch;
  if (named === undefined) return [];
  const current = cell.nodeEpoch(node);
  return current?.state === 'Open' && sameEpoch(current.epoch, named)
    ? []
    : [
        `${nodeAccountKey(node)} names epoch ${shownEpoch(named)}, the node is at ${current ? `${shownEpoch(current.epoch)}, ${current.state}` : 'none'}`,
      ];
}
