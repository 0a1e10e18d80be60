import { asRevision, type ChangeSet, type Revision } from '../store/contract.js';

/** How many events a watcher may resume behind the present. Older events are Expired: the client lists again. */
export const eventsKeptMax = 20_000;
// The list may grow past its bound by this: to take one event off the front of a long list costs as much as to take many.
const eventsForgottenAtOnce = 1_000;

/** The last change sets of a cell, by the number of events that they make. */
export class EventHistory<C> {
  // Invariant: holds every set after `#begin`, in the order of revisions.
  #sets: ChangeSet<C>[] = [];
  #events = 0;
  #begin = asRevision(0);

  constructor(private readonly eventsOf: (set: ChangeSet<C>) => number) {}

  /** A watch may resume after this revision, and not after an earlier one. */
  get begin(): Revision {
    return this.#begin;
  }

  /** Forgets all sets; history begins anew at this revision. */
  beginAt(revision: Revision): void {
    this.#sets = [];
    this.#events = 0;
    this.#begin = revision;
  }

  keep(set: ChangeSet<C>): void {
    this.#sets.push(set);
    this.#events += this.eventsOf(set);
    if (this.#events > eventsKeptMax + eventsForgottenAtOnce) this.#forget();
  }

  after(revision: Revision): readonly ChangeSet<C>[] {
    return this.#sets.filter((set) => set.revision > revision);
  }

  #forget(): void {
    let count = 0;
    for (; this.#events > eventsKeptMax; count++) {
      const set = this.#sets[count] as ChangeSet<C>;
      this.#events -= this.eventsOf(set);
      this.#begin = set.revision;
    }
    this.#sets.splice(0, count);
  }
}
