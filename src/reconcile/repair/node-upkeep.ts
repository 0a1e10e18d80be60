import { chargesFinalizer, type Node } from '../../model/kinds/node.js';
import type { NodeLedger } from '../../model/kinds/node-ledger.js';
import type { Outcome } from '../../model/ports.js';
import type { Acting } from '../runtime/acting.js';
import { carryOut } from '../runtime/carry-out.js';
import { FirstSeen } from '../runtime/first-seen.js';
import { after, type Reconciler, type Requeue } from '../runtime/requeue.js';

/** So long people are told that a fence was overrun. */
export const overrunShownMs = 3_600_000;

// What is charged to a node that is being deleted ends without a word to whoever waits for it.
const chargesLookMs = 2_000;

/**
 * Ends what is said of nodes for a time only: attestations, and that a fence was overrun; and removes nodes that are being
 * deleted once nothing is charged to them. Keys are nodes.
 */
export class NodeUpkeep implements Reconciler {
  readonly #seen: FirstSeen;

  constructor(private readonly acting: Acting) {
    this.#seen = new FirstSeen(acting.env);
  }

  async reconcile(key: string, signal: AbortSignal): Promise<Requeue> {
    const { objects, authority, actor } = this.acting;
    const node = objects.get<Node>('Node', undefined, key);
    const { epoch, attestation, conditions } = node?.status ?? {};
    const overrun = conditions?.find(({ type, status }) => type === 'FenceOverrun' && status === 'True');
    const overrunId = overrun && `overrun ${overrun.lastTransitionTime}`;
    this.#seen.retain(
      key,
      [attestation?.operation, overrunId].filter((id) => id !== undefined),
    );
    const operations: (() => Promise<Outcome<unknown>>)[] = [];
    const leftMs: number[] = [];
    const due = (id: string, lastsMs: number, operation: () => Promise<Outcome<unknown>>): void => {
      const left = lastsMs - this.#seen.ageMs(key, id);
      if (left <= 0) operations.push(operation);
      else leftMs.push(left);
    };
    if (attestation !== undefined && epoch !== undefined)
      due(attestation.operation, attestation.forSeconds * 1_000, () =>
        authority.attest({
          ...{ actor, node: key, nodeEpoch: epoch, isOver: true, reason: 'Expired', forSeconds: 0 },
          ...{ given: attestation.operation, operation: `${attestation.operation}/over` },
        }),
      );
    if (overrunId !== undefined)
      due(overrunId, overrunShownMs, () =>
        authority.remark({ actor, about: { kind: 'Node', node: key }, set: [], clear: ['FenceOverrun'] }),
      );
    if (node?.metadata.deletionTimestamp !== undefined) {
      const { uid } = node.metadata;
      const remove = () => authority.removeNode({ actor, node: key, uid, operation: `remove-node/${uid}` });
      if (this.#isRemovable(node)) operations.push(remove);
      else leftMs.push(chargesLookMs);
    }
    const requeue = await carryOut(this.acting, 'node-upkeep', key, operations, signal);
    if (requeue.kind !== 'done' || leftMs.length === 0) return requeue;
    return after(Math.min(...leftMs), 'something is said of the node for a time, or charged to it');
  }

  /** As the cache shows it: the authority looks again. */
  #isRemovable({ metadata: { name, finalizers = [] } }: Node): boolean {
    const ledger = this.acting.objects.get<NodeLedger>('NodeLedger', undefined, name);
    const isCharged = Object.keys(ledger?.status?.antiAffinity ?? {}).length > 0;
    return !isCharged && finalizers.every((finalizer) => finalizer === chargesFinalizer);
  }
}

/** The nodes that have something to end. */
export const hasUpkeep = ({ metadata, status }: Node): boolean =>
  metadata.deletionTimestamp !== undefined ||
  status?.attestation !== undefined ||
  status?.conditions?.some(({ type }) => type === 'FenceOverrun') === true;
