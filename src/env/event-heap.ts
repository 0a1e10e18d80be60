/** One thing that will happen in virtual time. */
export interface HeapEvent {
  readonly atMs: number;
  /** Drawn from the seed: decides between events of the same time, so that each seed tries another order. */
  readonly tiebreak: number;
  readonly sequence: number;
}

/** A binary heap ordered by (time, seeded tiebreak, sequence): a total order, so a run never depends on the heap. */
export class EventHeap<E extends HeapEvent> {
  readonly #events: E[] = [];

  get size(): number {
    return this.#events.length;
  }

  peek(): E | undefined {
    return this.#events[0];
  }

  push(event: E): void {
    const events = this.#events;
    let index = events.length;
    events.push(event);
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = events[parent] as E;
      if (isBefore(above, event)) break;
      events[index] = above;
      index = parent;
    }
    events[index] = event;
  }

  /** Takes out every event for which `isGone` is true. */
  prune(isGone: (event: E) => boolean): void {
    const kept = this.#events.filter((event) => !isGone(event));
    this.#events.length = 0;
    for (const event of kept) this.push(event);
  }

  pop(): E | undefined {
    const events = this.#events;
    const first = events[0];
    const last = events.pop();
    if (first === undefined || last === undefined || events.length === 0) return first;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= events.length) break;
      const right = child + 1;
      if (right < events.length && isBefore(events[right] as E, events[child] as E)) child = right;
      const below = events[child] as E;
      if (isBefore(last, below)) break;
      events[index] = below;
      index = child;
    }
    events[index] = last;
    return first;
  }
}

function isBefore(a: HeapEvent, b: HeapEvent): boolean {
  if (a.atMs !== b.atMs) return a.atMs < b.atMs;
  if (a.tiebreak !== b.tiebreak) return a.tiebreak < b.tiebreak;
  return a.sequence < b.sequence;
}
