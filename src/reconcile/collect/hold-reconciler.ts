import { isDeepStrictEqual } from 'node:util';
import { isBerthError } from '../../model/errors.js';
import type { Gang } from '../../model/kinds/gang.js';
import { type Node, shallBeEmpty } from '../../model/kinds/node.js';
import type { NodeLedger } from '../../model/kinds/node-ledger.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { Reservation } from '../../model/kinds/reservation.js';
import type { ObjectIndex } from '../../model/object-index.js';
import type { ObjectChange, Objects } from '../../model/ports.js';
import { type Acting, keyOfObject, noKeys, splitKey } from '../runtime/acting.js';
import { carryOut } from '../runtime/carry-out.js';
import { FirstSeen } from '../runtime/first-seen.js';
import { after, done, type Reconciler, type Requeue } from '../runtime/requeue.js';
import { judgeHold } from './judge-hold.js';

const endedFinalizer = 'berth.dev/ended';

/** Releases holds that nobody needs any more, and deletes those that are over. Keys are reservations. */
export class HoldReconciler implements Reconciler {
  readonly #seen: FirstSeen;

  constructor(
    private readonly acting: Acting,
    /** Replicas by the node they may run on. */
    private readonly onNode: Pick<ObjectIndex<Replica>, 'of'>,
  ) {
    this.#seen = new FirstSeen(acting.env);
  }

  async reconcile(key: string, signal: AbortSignal): Promise<Requeue> {
    const { objects, authority, actor } = this.acting;
    const { tenant, name } = splitKey(key);
    const reservation = objects.get<Reservation>('Reservation', tenant, name);
    if (reservation === undefined) {
      this.#seen.retain(key, []);
      return done;
    }
    const { uid } = reservation.metadata;
    const { state: held = 'Held', awaits = [] } = reservation.status ?? {};
    // Each victim that has ended brings it further: its time begins anew.
    const state = `${uid} ${held} ${awaits.length}`;
    this.#seen.retain(key, [state]);
    const awaited = new Set(awaits.map((victim) => victim.uid));
    const there = awaited.size === 0 ? [] : [...this.onNode.of(reservation.spec.node)];
    const owner = objects.get<Replica>('Replica', tenant, reservation.spec.owner.name);
    const gang = owner?.spec.gang;
    const verdict = judgeHold({
      ...{ reservation, owner, inStateMs: this.#seen.ageMs(key, state) },
      victims: there.filter(({ metadata }) => awaited.has(metadata.uid)),
      node: objects.get<Node>('Node', undefined, reservation.spec.node),
      ledger: objects.get<NodeLedger>('NodeLedger', undefined, reservation.spec.node),
      gang: gang === undefined ? undefined : objects.get<Gang>('Gang', tenant, gang),
    });
    switch (verdict.kind) {
      case 'Keep':
        return verdict.ms === undefined ? done : after(verdict.ms, 'its time is not over');
      case 'Delete':
        await this.#delete(tenant, name, uid);
        return done;
      case 'Release': {
        const { as, reason } = verdict;
        const operation = `release-hold/${uid}/${as}`;
        const send = () =>
          authority.releaseHold({ actor, tenant, reservation: name, uid, as, reason, operation });
        return carryOut(this.acting, 'holds', key, [send], signal);
      }
    }
  }

  async #delete(tenant: string, name: string, uid: string): Promise<void> {
    const { objects } = this.acting;
    try {
      await objects.modify<Reservation>('Reservation', tenant, name, 'spec', (live) => {
        if (live.metadata.uid !== uid || live.status?.state === 'Held') return undefined;
        const finalizers = (live.metadata.finalizers ?? []).filter((one) => one !== endedFinalizer);
        return { ...live, metadata: { ...live.metadata, finalizers } };
      });
      await objects.delete('Reservation', tenant, name, uid);
    } catch (error) {
      // It went with its finalizer, or it is another one now.
      if (!isBerthError(error, 'NotFound') && !isBerthError(error, 'Conflict')) throw error;
    }
  }
}

export const holdKinds: ReadonlySet<string> = new Set(['Node', 'Reservation', 'Replica']);

/**
 * The holds that a change concerns: their own changes, those of the replica that they are for or wait for, and those of a
 * node that takes nothing any more or has come back with another offer.
 */
export function holdKeysOf(objects: Objects, change: ObjectChange): readonly string[] {
  switch (change.kind) {
    case 'Node': {
      const [node, last] = [change.object as Node, change.before as Node | undefined];
      return change.type === 'DELETED' || hasClosed(node, last) || offersOther(node, last)
        ? [...holdKeysOn(objects, node.metadata.name)]
        : noKeys;
    }
    case 'Reservation':
      return [keyOfObject(change.object.metadata.namespace, change.object.metadata.name)];
    case 'Replica':
      return holdKeysOfReplica(objects, change.object as Replica, change.before as Replica | undefined);
    default:
      return noKeys;
  }
}

function holdKeysOfReplica(
  objects: Objects,
  replica: Replica,
  before: Replica | undefined,
): readonly string[] {
  const { hold, stage, awaitedBy } = replica.status ?? {};
  const holdBefore = before?.status?.hold;
  // As nearly all are: nothing is made for them.
  if (hold === undefined && holdBefore === undefined && awaitedBy === undefined) return noKeys;
  const { namespace } = replica.metadata;
  const keys = [hold, holdBefore]
    .filter((name) => name !== undefined)
    .filter((name) => objects.get('Reservation', namespace, name) !== undefined)
    .map((name) => keyOfObject(namespace, name));
  return awaitedBy !== undefined && stage !== before?.status?.stage ? [...keys, awaitedBy] : keys;
}

function* holdKeysOn(objects: Objects, node: string): Generator<string> {
  for (const { metadata, spec } of objects.list<Reservation>('Reservation'))
    if (spec.node === node) yield keyOfObject(metadata.namespace, metadata.name);
}

const hasClosed = (node: Node, last: Node | undefined): boolean =>
  (shallBeEmpty(node) && (last === undefined || !shallBeEmpty(last))) ||
  (node.spec.unschedulable === true && last?.spec.unschedulable !== true) ||
  (node.status?.reachability === 'Lost' && last?.status?.reachability !== 'Lost');

const offersOther = ({ status: now }: Node, last: Node | undefined): boolean =>
  !isDeepStrictEqual([now?.allocatable, now?.devices], [last?.status?.allocatable, last?.status?.devices]);
