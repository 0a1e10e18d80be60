/** Since when each key has had the state that it has. */
export class Since {
  readonly #states = new Map<string, { readonly state: string; readonly atMs: number }>();

  /** The same state again changes nothing; undefined: the key has none. */
  note(key: string, state: string | undefined, atMs: number): void {
    if (state === undefined) this.#states.delete(key);
    else if (this.#states.get(key)?.state !== state) this.#states.set(key, { state, atMs });
  }

  /** Infinity if the key has another state, or none. */
  ms(key: string, state: string): number {
    const known = this.#states.get(key);
    return known?.state === state ? known.atMs : Number.POSITIVE_INFINITY;
  }
}
