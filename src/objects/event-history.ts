import { asRevision, type ChangeSet, type Revision } from '../store/contract.js';
import type { ObjectEvent } from './cached-object.js';

/** How many events a watcher may resume behind the present. Older events are Expired: the client lists again. */
export const eventsKeptMax = 20_000;
// So many more may be kept: to take one off the front of a long list costs as much as to take many.
const eventsForgottenAtOnce = 1_000;

/** The last events of a cache, for watchers that resume. */
export class EventHistory {
  // Invariant: holds every event after `#begin`, in the order of revisions.
  #sets: ChangeSet<ObjectEvent>[] = [];
  #events = 0;
  #begin = asRevision(0);

  /** A watch may resume after this revision, and not after an earlier one. */
  get begin(): Revision {
    return this.#begin;
  }

  /** Forgets all events; history begins anew at this revision. */
  beginAt(revision: Revision): void {
    this.#sets = [];
    this.#events = 0;
    this.#begin = revision;
  }

  keep(set: ChangeSet<ObjectEvent>): void {
    this.#sets.push(set);
    this.#events += set.changes.length;
    if (this.#events > eventsKeptMax + eventsForgottenAtOnce) this.#forget();
  }

  after(revision: Revision): readonly ChangeSet<ObjectEvent>[] {
    return this.#sets.filter((set) => set.revision > revision);
  }

  #forget(): void {
    let count = 0;
    for (; this.#events > eventsKeptMax; count++) {
      const { changes, revision } = this.#sets[count] as ChangeSet<ObjectEvent>;
      this.#events -= changes.length;
      this.#begin = revision;
    }
    this.#sets.splice(0, count);
  }
}
