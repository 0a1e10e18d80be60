import type { Entry } from './contract.js';

// At the bound the oldest are let go: their values are then read like those of others.
const expectedMax = 20_000;

/**
 * What this process wrote comes back to it through its watch, as other bytes. Those above know what the bytes they
 * wrote mean and need not parse them again, so they are given back their own wherever they are the same.
 */
export class EtcdEchoes {
  readonly #expected = new Map<string, Uint8Array>();

  expect(key: string, value: Uint8Array): void {
    this.#expected.delete(key);
    this.#expected.set(key, value);
    if (this.#expected.size <= expectedMax) return;
    for (const oldest of this.#expected.keys()) {
      this.#expected.delete(oldest);
      return;
    }
  }

  /** The same entry, with the bytes that were written here if they are the same. */
  own(entry: Entry): Entry {
    const expected = this.#expected.get(entry.key);
    if (expected === undefined || Buffer.compare(expected, entry.value) !== 0) return entry;
    this.#expected.delete(entry.key);
    return { ...entry, value: expected };
  }
}
