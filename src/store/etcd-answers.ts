import { asRevision, type Change, type ChangeSet, type Revision } from './contract.js';

/**
 * What etcd answers to transactions and tells watchers, read from the bytes of its TxnResponse and WatchResponse. By hand,
 * like the transactions themselves: every write of a cell comes back this way, and the general way makes some ten objects
 * of each to throw away. A test compares the two.
 */
export interface TxnAnswer {
  readonly revision: Revision;
  readonly succeeded: boolean;
}

export interface WatchAnswer {
  /** What the watch asked for is compacted up to here; 0 if it is not. */
  readonly compactRevision: Revision;
  readonly isCanceled: boolean;
  readonly cancelReason: string;
  readonly sets: readonly ChangeSet[];
}

/** The bytes of a value, given where they stand in a message. */
export type ValueAt = (key: string, message: Buffer, from: number, to: number) => Uint8Array;

// Field numbers with the wire type in the low three bits: 0 for a number, 2 for bytes and messages.
const lengthPrefixed = (field: number): number => (field << 3) | 2;
const numbered = (field: number): number => field << 3;
const header = lengthPrefixed(1);
const headerRevision = numbered(3);
const txnSucceeded = numbered(2);
const watchCanceled = numbered(4);
const watchCompactRevision = numbered(5);
const watchCancelReason = lengthPrefixed(6);
const watchEvents = lengthPrefixed(11);
const eventType = numbered(1);
const eventKeyValue = lengthPrefixed(2);
const kvKey = lengthPrefixed(1);
const kvCreateRevision = numbered(2);
const kvModRevision = numbered(3);
const kvValue = lengthPrefixed(5);
const deletion = 1;

export function readTxnAnswer(message: Buffer): TxnAnswer {
  const wire = new Wire(message);
  let revision = 0;
  let succeeded = false;
  while (wire.at < message.length) {
    const tag = wire.number();
    if (tag === header) {
      const end = wire.end();
      while (wire.at < end) {
        const inner = wire.number();
        if (inner === headerRevision) revision = wire.number();
        else wire.skip(inner);
      }
    } else if (tag === txnSucceeded) succeeded = wire.number() === 1;
    else wire.skip(tag);
  }
  return { revision: asRevision(revision), succeeded };
}

/** etcd sends events in revision order and never splits a revision between two messages. */
export function readWatchAnswer(message: Buffer, prefixLength: number, valueAt: ValueAt): WatchAnswer {
  const wire = new Wire(message);
  let compactRevision = 0;
  let isCanceled = false;
  let cancelReason = '';
  const sets: { readonly revision: Revision; readonly changes: Change[] }[] = [];
  let set: (typeof sets)[number] | undefined;
  while (wire.at < message.length) {
    const tag = wire.number();
    if (tag === watchEvents) {
      const { revision, change } = readEvent(wire, prefixLength, valueAt);
      if (set === undefined || set.revision !== revision) {
        set = { revision, changes: [] };
        sets.push(set);
      }
      set.changes.push(change);
    } else if (tag === watchCompactRevision) compactRevision = wire.number();
    else if (tag === watchCanceled) isCanceled = wire.number() === 1;
    else if (tag === watchCancelReason) {
      const end = wire.end();
      cancelReason = message.toString('utf8', wire.at, end);
      wire.at = end;
    } else wire.skip(tag);
  }
  return { compactRevision: asRevision(compactRevision), isCanceled, cancelReason, sets };
}

function readEvent(
  wire: Wire,
  prefixLength: number,
  valueAt: ValueAt,
): { readonly revision: Revision; readonly change: Change } {
  const { message } = wire;
  const end = wire.end();
  let isDeletion = false;
  let key = '';
  let createRevision = 0;
  let modRevision = 0;
  let valueFrom = 0;
  let valueTo = 0;
  while (wire.at < end) {
    const tag = wire.number();
    if (tag === eventType) isDeletion = wire.number() === deletion;
    else if (tag === eventKeyValue) {
      const kvEnd = wire.end();
      while (wire.at < kvEnd) {
        const inner = wire.number();
        if (inner === kvKey) {
          const keyEnd = wire.end();
          key = message.toString('latin1', wire.at + prefixLength, keyEnd);
          wire.at = keyEnd;
        } else if (inner === kvValue) {
          valueTo = wire.end();
          valueFrom = wire.at;
          wire.at = valueTo;
        } else if (inner === kvModRevision) modRevision = wire.number();
        else if (inner === kvCreateRevision) createRevision = wire.number();
        else wire.skip(inner);
      }
    } else wire.skip(tag);
  }
  const revision = asRevision(modRevision);
  if (isDeletion) return { revision, change: { kind: 'delete', key } };
  const value = valueAt(key, message, valueFrom, valueTo);
  return {
    revision,
    change: {
      kind: 'put',
      entry: { key, value, createRevision: asRevision(createRevision), modRevision: revision },
    },
  };
}

/** A place in a message. */
class Wire {
  at = 0;

  constructor(readonly message: Buffer) {}

  /** Above 2^53 it is not exact: so large are only ids that nobody looks at. */
  number(): number {
    const { message } = this;
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = message[this.at++];
      if (byte === undefined) throw new RangeError('the message ends in the middle of a field');
      if (byte < 128) return value + byte * scale;
      value += (byte & 127) * scale;
    }
  }

  /** Reads the length of what follows, and says where that ends. */
  end(): number {
    const length = this.number();
    const end = this.at + length;
    if (end > this.message.length) throw new RangeError('the message ends in the middle of a field');
    return end;
  }

  /** Passes over the content of a field. */
  skip(tag: number): void {
    switch (tag & 7) {
      case 0:
        this.number();
        return;
      case 1:
        this.at += 8;
        return;
      case 2:
        this.at = this.end();
        return;
      case 5:
        this.at += 4;
        return;
      default:
        throw new RangeError(`a field of wire type ${tag & 7}`);
    }
  }
}
