import { isBerthError } from '../../model/errors.js';
import type { Gang } from '../../model/kinds/gang.js';
import type { Node } from '../../model/kinds/node.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { Reservation } from '../../model/kinds/reservation.js';
import type { ObjectChange, Objects } from '../../model/ports.js';
import { type Acting, keyOfObject, splitKey } from '../runtime/acting.js';
import { carryOut } from '../runtime/carry-out.js';
import { FirstSeen } from '../runtime/first-seen.js';
import { after, done, type Reconciler, type Requeue } from '../runtime/requeue.js';
import { judgeHold } from './judge-hold.js';

const endedFinalizer = 'berth.dev/ended';

/** Releases holds that nobody needs any more, and deletes those that are over. Keys are reservations. */
export class HoldReconciler implements Reconciler {
  readonly #seen: FirstSeen;

  constructor(private readonly acting: Acting) {
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
    const state = `${uid} ${reservation.status?.state ?? 'Held'}`;
    this.#seen.retain(key, [state]);
    const owner = objects.get<Replica>('Replica', tenant, reservation.spec.owner.name);
    const gang = owner?.spec.gang;
    const verdict = judgeHold({
      ...{ reservation, owner, inStateMs: this.#seen.ageMs(key, state) },
      node: objects.get<Node>('Node', undefined, reservation.spec.node),
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

/** The holds that a change concerns: their own changes, and those of the replica that they are for. */
export function* holdKeysOf(objects: Objects, change: ObjectChange): Generator<string> {
  const { kind } = change;
  if (kind === 'Node') {
    const [node, last] = [change.object as Node, change.before as Node | undefined];
    if (node.spec.drain === undefined || last?.spec.drain !== undefined) return;
    for (const { metadata, spec } of objects.list<Reservation>('Reservation'))
      if (spec.node === node.metadata.name) yield keyOfObject(metadata.namespace, metadata.name);
  }
  if (kind !== 'Reservation' && kind !== 'Replica') return;
  const { object, before } = change;
  const { namespace, name } = object.metadata;
  if (kind === 'Reservation') yield keyOfObject(namespace, name);
  if (kind !== 'Replica') return;
  for (const replica of [object as Replica, before as Replica | undefined]) {
    const hold = replica?.status?.hold;
    if (hold !== undefined && objects.get('Reservation', namespace, hold) !== undefined)
      yield keyOfObject(namespace, hold);
  }
}
