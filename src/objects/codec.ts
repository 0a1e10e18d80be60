/**
 * Objects are stored as JSON. Whoever writes an object keeps what it encoded: when the same bytes come back
 * through the watch (as they do on memory and lmdb), they are not parsed again.
 */
export class Codec {
  readonly #known = new WeakMap<Uint8Array, unknown>();

  encode(value: unknown, json = JSON.stringify(value)): Buffer {
    const bytes = Buffer.from(json);
    this.#known.set(bytes, value);
    return bytes;
  }

  /** What the bytes mean. Must not be changed: others may hold the same value. */
  decode(bytes: Uint8Array): unknown {
    const known = this.#known.get(bytes);
    if (known !== undefined) return known;
    return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()) as unknown;
  }
}
