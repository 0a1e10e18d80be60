import type { Reservation, ReservationStatus } from '../../model/kinds/reservation.js';
import { objectKey } from '../../model/records.js';
import { placeOf } from './cell-view.js';
import type { CellState, Commit, CommittedChange, SafetyChecker, Violation } from './checker.js';
import { Since } from './since.js';
import { Terms } from './terms.js';
import { tooEarly } from './too-early.js';

/** How long people can look at a hold that is over. */
const keptMs = 60_000;

/**
 * [S7] The collector expires a hold only after the hold has been as it is for its whole deadline, and deletes a hold only
 * after it has been over for a minute. Each victim that has ended brings a hold further: its deadline begins anew.
 */
export class HoldTimes implements SafetyChecker {
  readonly rule = 'S7';
  checked = 0;
  readonly #terms = new Terms();
  readonly #since = new Since();

  onCommit(commit: Commit, state: CellState): readonly Violation[] {
    const messages: string[] = [];
    for (const change of commit.changes) {
      const place = placeOf(change.key);
      if (place?.part !== 's' || place.kind !== 'Reservation') continue;
      const object = objectKey('Reservation', place.tenant, place.name);
      const deleted = commit.changes.find(({ key }) => key === object)?.before;
      // A parsed boundary: the object of a hold stands under the other one of its two keys.
      const stored = (state.get(object) ?? deleted) as Reservation | undefined;
      if (stored !== undefined) messages.push(...this.#wrong(change, stored, commit.atMs));
      this.#since.note(change.key, stateOf(statusIn(change.after)), commit.atMs);
    }
    this.#terms.onCommit(commit);
    return messages.map((message) => ({ rule: this.rule, revision: state.revision, message }));
  }

  whole(): readonly Violation[] {
    return [];
  }

  #wrong({ key, before, after }: CommittedChange, { spec }: Reservation, atMs: number): readonly string[] {
    const [was, is] = [statusIn(before), statusIn(after)];
    if (was === undefined) return [];
    const began = Math.max(this.#since.ms(key, stateOf(was) ?? ''), this.#terms.sinceMs('collector'));
    const isDeleted = is === undefined && was.state !== 'Held';
    const isExpired = was.state === 'Held' && is?.state === 'Expired' && is.reason === 'DeadlinePassed';
    if (!isDeleted && !isExpired) return [];
    this.checked += 1;
    return isExpired
      ? tooEarly(`${key} expired`, atMs - began, spec.deadlineSeconds * 1_000)
      : tooEarly(`${key}, which is ${was.state}, was deleted`, atMs - began, keptMs);
  }
}

const statusIn = (value: unknown): ReservationStatus | undefined =>
  (value as Pick<Reservation, 'status'> | undefined)?.status;

const stateOf = (status: ReservationStatus | undefined): string | undefined =>
  status && `${status.state} ${status.awaits?.length ?? 0}`;
