import type { Node } from '../../model/kinds/node.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { ObjectIndex } from '../../model/object-index.js';
import type { ObjectChange } from '../../model/ports.js';
import { isTerminal } from '../../model/stages.js';
import { keyOfObject } from '../runtime/acting.js';

/** The node that a replica may still run on. */
export const nodeItMayRunOn = ({ status }: Replica): string | undefined =>
  status === undefined || isTerminal(status.stage) ? undefined : status.binding?.node;

const keyOf = ({ metadata }: Replica): string => keyOfObject(metadata.namespace, metadata.name);

/** The replicas that a change concerns: itself, or all on a node of which something else is believed or attested now. */
export function* repairKeysOf(replicas: ObjectIndex<Replica>, change: ObjectChange): Generator<string> {
  if (change.kind === 'Replica') {
    const replica = change.object as Replica;
    if (replica.status?.binding !== undefined) yield keyOf(replica);
  }
  if (change.kind !== 'Node' || !isOfInterest(change.object as Node, change.before as Node | undefined))
    return;
  for (const replica of replicas.of(change.object.metadata.name)) yield keyOf(replica);
}

/**
 * Every replica of which something may be due. One that runs on a node that is heard of is none: a hundred thousand of
 * them, looked at every minute, would keep those waiting that are.
 */
export function* allRepairKeys(
  replicas: ObjectIndex<Replica>,
  isHeard: (node: string) => boolean,
): Generator<string> {
  for (const node of replicas.groups()) {
    const isWell = isHeard(node);
    for (const replica of replicas.of(node)) if (!isWell || !isRunning(replica)) yield keyOf(replica);
  }
}

const isRunning = ({ status }: Replica): boolean => status?.stage === 'Ready' || status?.stage === 'Serving';

const isOfInterest = (node: Node, before: Node | undefined): boolean =>
  before?.status?.reachability !== node.status?.reachability ||
  before?.status?.attestation?.operation !== node.status?.attestation?.operation;
