import type { Guard, Transaction, Write } from './contract.js';

/**
 * A transaction as the bytes of etcd's TxnRequest: compare (1) and success (2). What stands under the guarded keys is
 * read only if one of them fails: as a failure (3) of each transaction it would go through etcd's log with all those
 * that succeed, and is half of what etcd has to take apart.
 *
 * Written out by hand because it is the hot path of a cell on etcd: a batch of binds has 128 guards, and the general way
 * (objects for messages, copied into other objects, then written) costs more than deciding the binds. A test compares
 * its bytes with the general way's.
 */
export function encodeTransaction({ guards, writes }: Transaction, prefix: string): Buffer {
  let bytes = 0;
  for (const guard of guards) bytes += fieldBytes(compareBytes(guard, prefix));
  for (const write of writes) bytes += fieldBytes(fieldBytes(writeBytes(write, prefix)));
  const target = new Target(bytes, prefix);
  for (const guard of guards) {
    target.begin(txnCompare, compareBytes(guard, prefix));
    target.compare(guard);
  }
  for (const write of writes) {
    const inner = writeBytes(write, prefix);
    target.begin(txnSuccess, fieldBytes(inner));
    target.begin(write.kind === 'put' ? opPut : opDelete, inner);
    target.key(firstKey, write.key);
    if (write.kind === 'put') target.value(putValue, write.value);
  }
  return target.bytes;
}

// Field numbers with the wire type in the low three bits: 0 for a number, 2 for bytes and messages.
const lengthPrefixed = (field: number): number => (field << 3) | 2;
const numbered = (field: number): number => field << 3;
const txnCompare = lengthPrefixed(1);
const txnSuccess = lengthPrefixed(2);
const opPut = lengthPrefixed(2);
const opDelete = lengthPrefixed(3);
const firstKey = lengthPrefixed(1);
const putValue = lengthPrefixed(2);
const compareTarget = numbered(2);
const compareKey = lengthPrefixed(3);
const compareCreateRevision = numbered(5);
const compareModRevision = numbered(6);
const compareValue = lengthPrefixed(7);
// What a compare looks at. That both are equal is 0, which is not written.
const targets = { absent: 1, unchanged: 2, value: 3 } as const;

// Below this, shifting is exact.
const shiftMax = 2 ** 28;

function numberBytes(value: number): number {
  let bytes = 1;
  for (let rest = value; rest >= 128; rest = Math.floor(rest / 128)) bytes += 1;
  return bytes;
}

/** Of a field that begins with its length: tag, length, content. */
const fieldBytes = (content: number): number => 1 + numberBytes(content) + content;
const keyBytes = (key: string, prefix: string): number => fieldBytes(prefix.length + key.length);
const writeBytes = (write: Write, prefix: string): number =>
  keyBytes(write.key, prefix) + (write.kind === 'put' ? fieldBytes(write.value.byteLength) : 0);

function compareBytes(guard: Guard, prefix: string): number {
  const key = 2 + keyBytes(guard.key, prefix);
  switch (guard.kind) {
    case 'absent':
      return key + 2;
    case 'unchanged':
      return key + 1 + numberBytes(guard.modRevision);
    case 'value':
      return key + fieldBytes(guard.value.byteLength);
  }
}

class Target {
  readonly bytes: Buffer;
  #at = 0;

  constructor(
    bytes: number,
    private readonly prefix: string,
  ) {
    this.bytes = Buffer.allocUnsafe(bytes);
  }

  begin(tag: number, content: number): void {
    this.bytes[this.#at++] = tag;
    this.number(content);
  }

  number(value: number): void {
    let rest = value;
    while (rest >= 128) {
      this.bytes[this.#at++] = (rest % 128) | 128;
      rest = rest < shiftMax ? rest >>> 7 : Math.floor(rest / 128);
    }
    this.bytes[this.#at++] = rest;
  }

  /** Keys are printable ASCII: one byte for each character. */
  key(tag: number, key: string): void {
    const { prefix, bytes } = this;
    this.begin(tag, prefix.length + key.length);
    this.#at += bytes.write(prefix, this.#at, 'latin1');
    this.#at += bytes.write(key, this.#at, 'latin1');
  }

  value(tag: number, value: Uint8Array): void {
    this.begin(tag, value.byteLength);
    this.bytes.set(value, this.#at);
    this.#at += value.byteLength;
  }

  compare(guard: Guard): void {
    this.bytes[this.#at++] = compareTarget;
    this.number(targets[guard.kind]);
    this.key(compareKey, guard.key);
    switch (guard.kind) {
      case 'absent':
        this.bytes[this.#at++] = compareCreateRevision;
        this.number(0);
        return;
      case 'unchanged':
        this.bytes[this.#at++] = compareModRevision;
        this.number(guard.modRevision);
        return;
      case 'value':
        this.value(compareValue, guard.value);
    }
  }
}
