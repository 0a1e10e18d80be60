import { JsonWriter } from './json-writer.js';

const meaning: unique symbol = Symbol('what the bytes mean');

/** Bytes that remember what they were made from. A property of their own: a weak map costs twice as much to fill. */
type Known = Uint8Array & { [meaning]?: unknown };

/**
 * Objects are stored as JSON. Whoever writes an object keeps what it encoded: when the same bytes come back
 * through the watch (as they do on memory and lmdb), they are not parsed again.
 */
export class Codec {
  readonly #writer = new JsonWriter();

  encode(value: unknown, json?: string): Buffer {
    const bytes: Buffer & Known = json === undefined ? this.#writer.write(value) : Buffer.from(json);
    bytes[meaning] = value;
    return bytes;
  }

  /** What the bytes mean. Must not be changed: others may hold the same value. */
  decode(bytes: Known): unknown {
    const known = bytes[meaning];
    if (known !== undefined) return known;
    return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()) as unknown;
  }
}
