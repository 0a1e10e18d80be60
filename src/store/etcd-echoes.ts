/** What was written under one key and has not come back, in the order it was sent. */
interface Expected {
  readonly value: Uint8Array;
  next: Expected | undefined;
  /** Kept by the first alone. */
  last: Expected | undefined;
}

// At the bound all are let go: their values are then read like those of others. So many are on their way when thousands of
// binds a second are committed and the watch is a second behind.
const expectedMax = 50_000;

/**
 * What this process wrote comes back to it through its watch, as other bytes. Those above know what the bytes they
 * wrote mean and need not parse them again, so they are given back their own wherever they are the same.
 */
export class EtcdEchoes {
  readonly #expected = new Map<string, Expected>();
  #count = 0;

  expect(key: string, value: Uint8Array): void {
    if (this.#count >= expectedMax) {
      this.#expected.clear();
      this.#count = 0;
    }
    this.#count += 1;
    const one: Expected = { value, next: undefined, last: undefined };
    const first = this.#expected.get(key);
    if (first === undefined) this.#expected.set(key, one);
    else {
      (first.last ?? first).next = one;
      first.last = one;
    }
  }

  /** The bytes that were written here if what stands in a message is the same; a view of it if not. */
  readonly own = (key: string, message: Buffer, from: number, to: number): Uint8Array => {
    let passed = 0;
    const first = this.#expected.get(key);
    for (let one = first; one !== undefined; one = one.next) {
      passed += 1;
      if (message.compare(one.value, 0, one.value.byteLength, from, to) !== 0) continue;
      // Those before it were never applied, or others than they came first.
      this.#count -= passed;
      if (one.next === undefined) this.#expected.delete(key);
      else {
        one.next.last = first?.last;
        this.#expected.set(key, one.next);
      }
      return one.value;
    }
    return message.subarray(from, to);
  };
}
