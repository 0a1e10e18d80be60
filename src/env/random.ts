import { createHash } from 'node:crypto';

/**
 * A stream of random numbers. Streams split by name: what `stream('network')` yields depends on the seed and
 * the path of names alone, never on how much was drawn elsewhere, so that adding a draw in one component does
 * not change the history of another.
 */
export interface Random {
  /** The next 32 random bits, as an unsigned integer. */
  uint32(): number;
  /** Uniform in [0, 1), with 53 random bits. */
  float(): number;
  /** Uniform in [0, below). `below` is a positive integer up to 2^32. */
  integer(below: number): number;
  /** True with the given probability. */
  chance(probability: number): boolean;
  pick<T>(items: readonly T[]): T;
  stream(name: string): Random;
}

/**
 * Chris Doty-Humphrey's sfc32: 128 bits of state, passes PractRand, and four additions per number. The state
 * comes from SHA-256 over the seed and the stream's path, so streams never overlap in practice.
 */
export class SeededRandom implements Random {
  readonly #path: string;
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  constructor(path: string) {
    this.#path = path;
    const state = createHash('sha256').update(path).digest();
    this.#a = state.readInt32LE(0);
    this.#b = state.readInt32LE(4);
    this.#c = state.readInt32LE(8);
    for (let round = 0; round < 12; round++) this.uint32();
  }

  uint32(): number {
    const result = (((this.#a + this.#b) | 0) + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + result;
    this.#c |= 0;
    return result >>> 0;
  }

  float(): number {
    return ((this.uint32() >>> 5) * 0x4000000 + (this.uint32() >>> 6)) / 0x20000000000000;
  }

  integer(below: number): number {
    if (!Number.isInteger(below) || below <= 0 || below > 0x1_0000_0000) {
      throw new RangeError(`integer(below): got ${below}, allowed is a whole number from 1 to 2^32`);
    }
    // Draws that would make small results likelier are thrown away, so the result is exactly uniform.
    const fair = 0x1_0000_0000 - (0x1_0000_0000 % below);
    let drawn = this.uint32();
    while (drawn >= fair) drawn = this.uint32();
    return drawn % below;
  }

  chance(probability: number): boolean {
    return this.float() < probability;
  }

  pick<T>(items: readonly T[]): T {
    if (items.length === 0) throw new RangeError('pick: the list is empty');
    return items[this.integer(items.length)] as T;
  }

  stream(name: string): Random {
    // A name's length stands before it, so that ('a', 'b/c') and ('a/b', 'c') are different paths.
    return new SeededRandom(`${this.#path}/${name.length}:${name}`);
  }
}

/** The next bytes of a stream. Repeatable, so never a secret outside a simulation. */
export function bytesFrom(random: Random, count: number): Buffer {
  const bytes = Buffer.alloc(Math.ceil(count / 4) * 4);
  for (let offset = 0; offset < bytes.length; offset += 4) bytes.writeUInt32BE(random.uint32(), offset);
  return bytes.subarray(0, count);
}

/** Formats 128 bits of a stream as a version 4 UUID. */
export function uuidFrom(random: Random): string {
  const bytes = bytesFrom(random, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x40, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
