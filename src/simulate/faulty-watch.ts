import { BerthError } from '../model/errors.js';
import type { ChangeSet, Revision, Watch } from '../store/contract.js';

type Turn = IteratorResult<readonly ChangeSet[], undefined>;

/** A watch behind a network: what it delivers is late, and now and then it is cut and has to be resumed. */
export class FaultyWatch implements Watch {
  #isCut = false;

  constructor(
    private readonly watch: Pick<Watch, 'next' | 'return'>,
    private delivered: Revision,
    private readonly faults: { readonly delay: () => Promise<void>; readonly isCut: () => boolean },
  ) {}

  async next(): Promise<Turn> {
    if (this.#isCut) return { done: true, value: undefined };
    const turn = await this.watch.next();
    if (turn.done) return turn;
    await this.faults.delay();
    if (this.faults.isCut()) {
      this.#isCut = true;
      await this.watch.return();
      throw new BerthError('SlowWatcher', `the watch was cut; watch again after ${this.delivered}`, {
        details: { resumeAfter: this.delivered },
      });
    }
    this.delivered = turn.value.at(-1)?.revision ?? this.delivered;
    return turn;
  }

  return(): Promise<Turn> {
    return this.watch.return();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
