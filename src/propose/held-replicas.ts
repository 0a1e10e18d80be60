import { type Backoff, backoffAfter } from '../env/backoff.js';
import { EventHeap, type HeapEvent } from '../env/event-heap.js';
import type { Random } from '../env/random.js';
import type { Gang } from '../model/kinds/gang.js';
import type { Reservation } from '../model/kinds/reservation.js';
import type { Records, ReplicaRef } from '../model/ports.js';
import { type NodeEpoch, nodeEpochKey, objectKey, statusKey } from '../model/records.js';

export interface HeldReplica extends ReplicaRef {
  readonly hold: string;
  readonly gang?: string;
}

interface Held {
  readonly replica: HeldReplica;
  isOut: boolean;
  failures: number;
}

interface Due extends HeapEvent {
  readonly held: Held;
}

/** A hold that can become a binding. */
export interface ReadyHold {
  readonly replica: HeldReplica;
  readonly node: string;
  readonly nodeEpoch: NodeEpoch['epoch'];
  /** That chose the node. */
  readonly decision: string | undefined;
}

/**
 * Replicas that are Scheduled: capacity is held for them. Each is bound where its hold is, once its victims have left
 * and its gang, if any, is Committed. They are looked at when one of these changes, and after a backoff.
 */
export class HeldReplicas {
  readonly #held = new Map<string, Held>();
  // By the key of their hold and of their gang.
  readonly #waitingFor = new Map<string, Set<Held>>();
  #toLookAt = new Set<Held>();
  readonly #dues = new EventHeap<Due>();
  #sequence = 0;

  constructor(
    private readonly parts: { readonly records: Records; readonly random: Random; readonly backoff: Backoff },
  ) {}

  get size(): number {
    return this.#held.size;
  }

  get nextDueMs(): number | undefined {
    return this.#dues.peek()?.atMs;
  }

  add(replica: HeldReplica): void {
    if (this.#held.has(replica.uid)) return;
    const held: Held = { replica, isOut: false, failures: 0 };
    this.#held.set(replica.uid, held);
    for (const key of keysOf(replica)) {
      const waiting = this.#waitingFor.get(key);
      if (waiting === undefined) this.#waitingFor.set(key, new Set([held]));
      else waiting.add(held);
    }
    this.#toLookAt.add(held);
  }

  remove(uid: string): void {
    const held = this.#held.get(uid);
    if (held === undefined) return;
    this.#held.delete(uid);
    this.#toLookAt.delete(held);
    for (const key of keysOf(held.replica)) {
      const waiting = this.#waitingFor.get(key);
      waiting?.delete(held);
      if (waiting?.size === 0) this.#waitingFor.delete(key);
    }
  }

  has(uid: string): boolean {
    return this.#held.has(uid);
  }

  /** A record changed. Whether somebody here waits for it. */
  changed(key: string): boolean {
    const waiting = this.#waitingFor.get(key);
    for (const held of waiting ?? []) this.#toLookAt.add(held);
    return waiting !== undefined;
  }

  /** Those that can be bound now. Each is out until `backOff` brings it back, or it is removed. */
  take(nowMs: number): readonly ReadyHold[] {
    for (let due = this.#dues.peek(); due !== undefined && due.atMs <= nowMs; due = this.#dues.peek()) {
      this.#dues.pop();
      due.held.isOut = false;
      if (this.#held.get(due.held.replica.uid) === due.held) this.#toLookAt.add(due.held);
    }
    if (this.#toLookAt.size === 0) return [];
    const ready: ReadyHold[] = [];
    for (const held of this.#toLookAt) {
      const one = held.isOut ? undefined : this.#readyHold(held.replica);
      if (one === undefined) continue;
      held.isOut = true;
      ready.push(one);
    }
    this.#toLookAt = new Set();
    return ready;
  }

  backOff(uid: string, nowMs: number): void {
    const held = this.#held.get(uid);
    if (held?.isOut !== true) return;
    held.failures += 1;
    const atMs = nowMs + backoffAfter(this.parts.backoff, held.failures, this.parts.random);
    this.#dues.push({ atMs, tiebreak: 0, sequence: ++this.#sequence, held });
  }

  #readyHold(replica: HeldReplica): ReadyHold | undefined {
    const { records } = this.parts;
    const { tenant, hold, gang } = replica;
    const reservation = records.read(objectKey('Reservation', tenant, hold)) as Reservation | undefined;
    const held = statusIn<Reservation>(records, statusKey('Reservation', tenant, hold));
    if (reservation === undefined || held?.state !== 'Held' || (held.awaits ?? []).length > 0)
      return undefined;
    if (reservation.spec.owner.uid !== replica.uid) return undefined;
    if (reservation.spec.intent === 'Gang') {
      const state = statusIn<Gang>(records, statusKey('Gang', tenant, gang ?? ''))?.state;
      if (state !== 'Committed') return undefined;
    }
    const { node, decision } = reservation.spec;
    const epoch = (records.read(nodeEpochKey(node)) as NodeEpoch | undefined)?.epoch;
    return epoch === undefined ? undefined : { replica, node, nodeEpoch: epoch, decision };
  }
}

function* keysOf({ tenant, hold, gang }: HeldReplica): Generator<string> {
  yield statusKey('Reservation', tenant, hold);
  if (gang !== undefined) yield statusKey('Gang', tenant, gang);
}

/** What stands under /s of a kind. A parsed boundary: only the authority writes there. */
export function statusIn<T extends { readonly status?: unknown }>(
  records: Records,
  key: string,
): T['status'] {
  return (records.read(key) as { readonly status: T['status'] } | undefined)?.status;
}
