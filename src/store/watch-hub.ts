import type { Env } from '../env/env.js';
import type { Change, ChangeSet, KeyRange, Revision, Watch, WatchOptions } from './contract.js';
import { expired } from './history-errors.js';
import { isInRange } from './key-range.js';
import { changeBytes, WatchBuffer } from './watch-buffer.js';

/** What the hub needs of an embedded store to bring a watcher up to date before it follows live changes. */
export interface WatchHistory {
  /** The newest revision that watchers may see. */
  visibleRevision(): Revision;
  compactedRevision(): Revision;
  /**
   * Some of the change sets after `after`, in order, and the revision up to which they are complete. Rejects
   * with Expired if history no longer goes back to `after`.
   */
  changesAfter(after: Revision): Promise<{ readonly sets: readonly ChangeSet[]; readonly upTo: Revision }>;
}

/** How much history a watcher that catches up gets per turn: at most this many transactions or bytes of values. */
export const historySetsPerTurn = 1_000;
export const historyBytesPerTurn = 1024 * 1024;

interface Group {
  readonly range: KeyRange;
  readonly members: Set<WatchBuffer<Change>>;
}

/**
 * Watches over an embedded store. A watcher first reads history, at its own pace and without a buffer; when
 * it has reached the present it joins the live watchers. Watchers of one range form a group, so that a
 * change is matched once per range and the same change sets are handed to all: 200 watchers of one range
 * cost 200 pushes, not 200 filters.
 */
export class WatchHub {
  readonly #groups = new Map<string, Group>();
  readonly #catchingUp = new Set<WatchBuffer<Change>>();

  constructor(
    private readonly history: WatchHistory,
    private readonly env: Env,
  ) {}

  watch(range: KeyRange, options: WatchOptions): Watch {
    const groupKey = `${range.from}\n${range.to}`;
    const buffer: WatchBuffer<Change> = new WatchBuffer(options, changeBytes, () =>
      this.#leave(groupKey, buffer),
    );
    if (buffer.isEnded) return buffer;
    this.#catchingUp.add(buffer);
    return new CatchingUp(this.history, this.env, range, buffer, () => {
      this.#catchingUp.delete(buffer);
      this.#join(groupKey, range, buffer);
    });
  }

  /** Tells the live watchers about transactions that have just become visible, in revision order. */
  publish(sets: readonly ChangeSet[]): void {
    for (const group of this.#groups.values()) {
      const matching = matchingSets(sets, group.range);
      if (matching.length === 0) continue;
      for (const member of group.members) member.push(matching);
    }
  }

  endAll(error: Error): void {
    for (const buffer of this.#catchingUp) buffer.end(error);
    for (const group of this.#groups.values()) for (const member of group.members) member.end(error);
  }

  #join(groupKey: string, range: KeyRange, buffer: WatchBuffer<Change>): void {
    let group = this.#groups.get(groupKey);
    if (group === undefined) {
      group = { range, members: new Set() };
      this.#groups.set(groupKey, group);
    }
    group.members.add(buffer);
  }

  #leave(groupKey: string, buffer: WatchBuffer<Change>): void {
    this.#catchingUp.delete(buffer);
    const group = this.#groups.get(groupKey);
    if (group?.members.delete(buffer) && group.members.size === 0) this.#groups.delete(groupKey);
  }
}

type Turn = IteratorResult<readonly ChangeSet[], undefined>;

/** The reader's view of a watch that starts in the past: history first, then the live buffer. */
class CatchingUp implements Watch {
  #isLive = false;
  #isReading = false;
  #position: Revision;

  constructor(
    private readonly history: WatchHistory,
    private readonly env: Env,
    private readonly range: KeyRange,
    private readonly buffer: WatchBuffer<Change>,
    private readonly goLive: () => void,
  ) {
    this.#position = buffer.position;
  }

  async next(): Promise<Turn> {
    if (this.#isReading)
      throw new Error('a watch has one reader: next() was called before the last one settled');
    if (this.#isLive) return this.buffer.next();
    this.#isReading = true;
    try {
      return await this.#nextOfHistory();
    } catch (error) {
      this.buffer.end(error as Error);
      return await this.buffer.next();
    } finally {
      this.#isReading = false;
    }
  }

  return(): Promise<Turn> {
    return this.buffer.return();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async #nextOfHistory(): Promise<Turn> {
    while (!this.buffer.isEnded) {
      if (this.#position < this.history.compactedRevision()) {
        throw expired(this.#position, this.history.compactedRevision());
      }
      if (this.#position >= this.history.visibleRevision()) {
        // Nothing may be published between finding that history is read to its end and going live:
        // there is no await between the two.
        this.#isLive = true;
        this.goLive();
        break;
      }
      const { sets, upTo } = await this.history.changesAfter(this.#position);
      this.#position = upTo;
      const matching = matchingSets(sets, this.range);
      if (matching.length > 0) {
        // The reader is waiting when this is pushed, so it goes straight through and no buffer can overflow.
        const turn = this.buffer.next();
        this.buffer.push(matching);
        return turn;
      }
      await this.env.yield();
    }
    return this.buffer.next();
  }
}

function matchingSets(sets: readonly ChangeSet[], range: KeyRange): readonly ChangeSet[] {
  const matching: ChangeSet[] = [];
  for (const set of sets) {
    // Most watchers want all that there is: a list of its own is made only for those who do not.
    let inRange = 0;
    for (const change of set.changes) if (isChangeIn(range, change)) inRange += 1;
    if (inRange === set.changes.length) matching.push(set);
    else if (inRange > 0)
      matching.push({
        revision: set.revision,
        changes: set.changes.filter((change) => isChangeIn(range, change)),
      });
  }
  return matching;
}

const isChangeIn = (range: KeyRange, change: Change): boolean =>
  isInRange(range, change.kind === 'put' ? change.entry.key : change.key);
