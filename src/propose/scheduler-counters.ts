/** What a scheduler tells of itself. Counts only grow, over all its terms. */
export class SchedulerCounters {
  decisions = 0;
  placements = 0;
  /** Answers of the authority, by outcome; rejections by reason. */
  readonly outcomes = new Map<string, number>();
  postponed = 0;
  /** The longest time it has kept others waiting since this was last asked. */
  #stretchMsMax = 0;

  answered(outcome: string): void {
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1);
  }

  stretch(ms: number): void {
    this.#stretchMsMax = Math.max(this.#stretchMsMax, ms);
  }

  takeStretchMsMax(): number {
    const ms = this.#stretchMsMax;
    this.#stretchMsMax = 0;
    return ms;
  }
}
