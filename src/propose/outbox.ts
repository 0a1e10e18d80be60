import { EventHeap, type HeapEvent } from '../env/event-heap.js';
import { Fifo } from '../env/fifo.js';
import { errorTable, isBerthError } from '../model/errors.js';
import type { Authority, Outcome, Proposal } from '../model/ports.js';
import type { Patience } from './patience.js';

/** A proposal on its way, with whatever its sender wants to find again. */
export interface Sent<T> {
  readonly proposal: Proposal;
  readonly about: T;
  attempts: number;
}

/** How much is on its way at once. */
export interface Batching {
  readonly proposalsPerBatch: number;
  /** Several, so that the next is there when one was answered. */
  readonly batchesMax: number;
}

export interface OutboxParts<T> {
  readonly batching: Batching;
  readonly authority: Pick<Authority, 'bind'>;
  readonly nowMs: () => number;
  readonly patience: Patience;
  /** Told of every answer but UnknownOutcome, which the outbox takes care of. */
  readonly onAnswer: (sent: Sent<T>, outcome: Exclude<Outcome<unknown>, { kind: 'UnknownOutcome' }>) => void;
  /** Told each time that an outcome is not known. */
  readonly onUnknown: (sent: Sent<T>) => void;
  /** Reads back: whether it still makes sense to send this again. */
  readonly isOpen: (proposal: Proposal) => boolean;
  /** There is room again, or something became due. */
  readonly onNews: () => void;
}

interface Due<T> extends HeapEvent {
  readonly sent: Sent<T>;
}

const batchesPerSend = 4;

/**
 * Proposals on their way to the authority, in batches, some under way at once.
 *
 * A proposal whose outcome is not known stays here: it is read back, and sent again as it was, under its own id, until
 * its outcome is known or it does not matter any more. An authority that does not answer is waited for with the patience
 * that all senders share; meanwhile nothing is sent, and there is no room for more.
 */
export class Outbox<T> {
  readonly #waiting = new Fifo<Sent<T>>();
  readonly #dues = new EventHeap<Due<T>>();
  #batches = 0;
  #underWay = 0;
  #sequence = 0;
  /** The budget for what is sent again was used up: there is more of it from then on. */
  #repeatsFromMs = 0;
  #isClosed = false;

  constructor(private readonly parts: OutboxParts<T>) {}

  /** How many more it takes now. */
  get room(): number {
    if (this.#isPaused()) return 0;
    const { proposalsPerBatch, batchesMax } = this.parts.batching;
    return proposalsPerBatch * batchesMax - this.#underWay - this.#waiting.size;
  }

  /** How many are on their way, or wait to be sent again. */
  get size(): number {
    return this.#waiting.size + this.#underWay + this.#dues.size;
  }

  /** When there is something to do although nobody answers. */
  get nextDueMs(): number | undefined {
    const dueMs = Math.max(this.#dues.peek()?.atMs ?? Number.POSITIVE_INFINITY, this.#repeatsFromMs);
    // There is room again after a pause, also where others have brought it about.
    const isNext = this.#isPaused() || (this.#waiting.size > 0 && this.#batches === 0);
    const nextMs = isNext ? Math.min(this.parts.patience.pausedUntilMs, dueMs) : dueMs;
    return nextMs === Number.POSITIVE_INFINITY ? undefined : nextMs;
  }

  add(proposal: Proposal, about: T): void {
    this.#waiting.push({ proposal, about, attempts: 0 });
  }

  /** Sends a part of what can be sent. Whether more could be. */
  send(): boolean {
    const nowMs = this.parts.nowMs();
    this.#takeDue(nowMs);
    const { proposalsPerBatch, batchesMax } = this.parts.batching;
    const canSend = (): boolean => this.#waiting.size > 0 && this.#batches < batchesMax;
    if (this.#isPaused() || this.#isClosed) return false;
    for (let sentBatches = 0; sentBatches < batchesPerSend && canSend(); sentBatches++) {
      const batch: Sent<T>[] = [];
      while (batch.length < proposalsPerBatch) {
        const sent = this.#waiting.shift();
        if (sent === undefined) break;
        sent.attempts += 1;
        batch.push(sent);
      }
      void this.#sendBatch(batch);
    }
    return canSend();
  }

  /** Sends nothing more; answers that still come are passed over. */
  close(): void {
    this.#isClosed = true;
  }

  async #sendBatch(batch: readonly Sent<T>[]): Promise<void> {
    this.#batches += 1;
    this.#underWay += batch.length;
    let outcomes: readonly Outcome<unknown>[] | undefined;
    let isCertain = false;
    try {
      outcomes = await this.parts.authority.bind(batch.map(({ proposal }) => proposal));
    } catch (error) {
      // Nothing was done for certain, or it is not known: sent again as it is in both cases, read back first in one.
      isCertain = isBerthError(error) && errorTable[error.code].callerMay !== 'readBack';
    }
    this.#batches -= 1;
    this.#underWay -= batch.length;
    if (this.#isClosed) return;
    let known = 0;
    for (let index = 0; index < batch.length; index += 1) {
      const sent = batch[index] as Sent<T>;
      const outcome = outcomes?.[index];
      if (outcome !== undefined && outcome.kind !== 'UnknownOutcome') {
        known += 1;
        this.parts.onAnswer(sent, outcome);
      } else if (isCertain) this.#waiting.push(sent);
      else this.#later(sent);
    }
    this.parts.patience.note(known > 0);
    this.parts.onNews();
  }

  #isPaused(): boolean {
    return this.parts.patience.pausedUntilMs > this.parts.nowMs();
  }

  #later(sent: Sent<T>): void {
    const { patience, nowMs, onUnknown } = this.parts;
    onUnknown(sent);
    const atMs = nowMs() + patience.backoffMs(sent.attempts);
    this.#dues.push({ atMs, tiebreak: 0, sequence: ++this.#sequence, sent });
  }

  #takeDue(nowMs: number): void {
    if (nowMs < this.#repeatsFromMs) return;
    for (let due = this.#dues.peek(); due !== undefined && due.atMs <= nowMs; due = this.#dues.peek()) {
      const { sent } = due;
      // What has landed, or is of no use any more, the records have told the others already.
      if (this.parts.isOpen(sent.proposal)) {
        const waitMs = this.parts.patience.msUntilRepeat();
        if (waitMs > 0) {
          this.#repeatsFromMs = nowMs + waitMs;
          return;
        }
        this.#waiting.push(sent);
      }
      this.#dues.pop();
    }
  }
}
