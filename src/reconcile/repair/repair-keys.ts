import type { Node } from '../../model/kinds/node.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { ObjectIndex } from '../../model/object-index.js';
import type { ObjectChange } from '../../model/ports.js';
import { isInJournal } from '../../model/journal.js';
import type { Epoch } from '../../model/records.js';
import { isTerminal } from '../../model/stages.js';
import { keyOfObject, noKeys } from '../runtime/acting.js';

/** The node that a replica may still run on. */
export const nodeItMayRunOn = ({ status }: Replica): string | undefined =>
  status === undefined || isTerminal(status.stage) ? undefined : status.binding?.node;

const keyOf = ({ metadata }: Replica): string => keyOfObject(metadata.namespace, metadata.name);

/** What is believed of nodes. */
export interface NodesSeen {
  isHeard(node: string): boolean;
  /** The first epoch of the journal that its agent has. */
  journalSince(node: string): Epoch | undefined;
}

export const repairKinds: ReadonlySet<string> = new Set(['Replica', 'Node']);

/**
 * The replicas that a change concerns: itself, or all on a node of which something else is believed or attested now.
 * What repair says itself concerns nobody, nor does what an agent says of a replica that runs on a node that is heard of.
 */
export function repairKeysOf(
  replicas: ObjectIndex<Replica>,
  nodes: NodesSeen,
  change: ObjectChange,
): readonly string[] {
  if (change.kind === 'Replica') {
    const replica = change.object as Replica;
    const node = replica.status?.binding?.node;
    if (node === undefined || !isAnotherMatter(replica, change.before as Replica | undefined)) return noKeys;
    return isRunning(replica, nodes.journalSince(node)) && nodes.isHeard(node) ? noKeys : [keyOf(replica)];
  }
  if (change.kind !== 'Node' || !isOfInterest(change.object as Node, change.before as Node | undefined))
    return noKeys;
  return [...replicas.of(change.object.metadata.name)].map(keyOf);
}

/**
 * It has come to where it starts, on a node that is heard of and knows of it, and nothing was held against it before: its
 * deadline alone is awaited, until a verdict on its node wakes all that are there.
 */
export function onlyStarts(nodes: NodesSeen, { kind, object, before }: ObjectChange): boolean {
  if (kind !== 'Replica') return false;
  const { binding, stage, intent, conditions } = (object as Replica).status ?? {};
  if (binding === undefined || (stage !== 'Bound' && stage !== 'Starting') || intent !== undefined)
    return false;
  const last = (before as Replica | undefined)?.status?.stage;
  if (last === stage || (last !== 'Queued' && last !== 'Scheduled' && last !== 'Bound')) return false;
  if (conditions?.some(({ type }) => type === 'Superseded' || type === 'FenceOverrun') === true) return false;
  return nodes.isHeard(binding.node) && isInJournal(binding, nodes.journalSince(binding.node));
}

/**
 * Every replica of which something may be due. One that runs on a node that is heard of is none: a hundred thousand of
 * them, looked at every minute, would keep those waiting that are.
 */
export function* allRepairKeys(replicas: ObjectIndex<Replica>, nodes: NodesSeen): Generator<string> {
  for (const node of replicas.groups()) {
    const isWell = nodes.isHeard(node);
    const journalSince = nodes.journalSince(node);
    for (const replica of replicas.of(node))
      if (!isWell || !isRunning(replica, journalSince)) yield keyOf(replica);
  }
}

/** It runs, and its agent would say if it did not. */
const isRunning = ({ status }: Replica, journalSince: Epoch | undefined): boolean =>
  (status?.stage === 'Ready' || status?.stage === 'Serving') &&
  status.binding !== undefined &&
  isInJournal(status.binding, journalSince);

/** It is at another stage, or the same for another time; it is asked to stop; another has its slot; its fence was overrun. */
function isAnotherMatter({ metadata, status }: Replica, before: Replica | undefined): boolean {
  const last = before?.status;
  return (
    before?.metadata.uid !== metadata.uid ||
    last?.stage !== status?.stage ||
    last?.transitions?.at(-1)?.operation !== status?.transitions?.at(-1)?.operation ||
    last?.intent?.operation !== status?.intent?.operation ||
    saidOf(last, 'Superseded') !== saidOf(status, 'Superseded') ||
    saidOf(last, 'FenceOverrun') !== saidOf(status, 'FenceOverrun')
  );
}

const saidOf = (status: Replica['status'], type: string): string | undefined =>
  status?.conditions?.find((condition) => condition.type === type)?.status;

/** That a renewal is late decides nothing about what runs there. */
const isOfInterest = (node: Node, before: Node | undefined): boolean =>
  (before?.status?.reachability !== node.status?.reachability && node.status?.reachability !== 'Suspect') ||
  before?.status?.attestation?.operation !== node.status?.attestation?.operation ||
  before?.status?.journalSince?.number !== node.status?.journalSince?.number ||
  before?.status?.journalSince?.cell !== node.status?.journalSince?.cell;
