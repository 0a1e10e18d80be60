/** What a session's bytes are. Numbers, because they stand on the wire. */
export const frameKinds = {
  /** To the command: what it reads, the end of that, and the new size of its terminal (JSON). */
  stdin: 0,
  stdinEnd: 1,
  resize: 2,
  /** From the node: that it has begun; what is written; how it ended (JSON), which is the last. */
  begun: 16,
  stdout: 17,
  stderr: 18,
  end: 19,
} as const;

export type FrameKind = keyof typeof frameKinds;

export interface Frame {
  readonly kind: FrameKind;
  readonly bytes: Buffer;
}

const headBytes = 5;
/** Longer output goes in several frames. A longer one ends the session. */
export const frameBytesMax = 64 * 1024;

const kindOf = new Map<number, FrameKind>(
  Object.entries(frameKinds).map(([kind, number]) => [number, kind as FrameKind]),
);
const none = Buffer.alloc(0);

/** A frame is one byte of kind, four of length, and that many bytes. */
export function frameOf(kind: FrameKind, bytes: Uint8Array = none): Buffer {
  const frame = Buffer.alloc(headBytes + bytes.length);
  frame.writeUInt8(frameKinds[kind], 0);
  frame.writeUInt32BE(bytes.length, 1);
  frame.set(bytes, headBytes);
  return frame;
}

export const jsonFrame = (kind: FrameKind, value: unknown): Buffer =>
  frameOf(kind, Buffer.from(JSON.stringify(value)));

/** The frames of some output, however much it is. */
export function* framesOf(kind: 'stdin' | 'stdout' | 'stderr', bytes: Uint8Array): Generator<Buffer, void> {
  for (let from = 0; from < bytes.length; from += frameBytesMax)
    yield frameOf(kind, bytes.subarray(from, from + frameBytesMax));
}

/** Cuts what arrives into frames. Throws at what is none: the other end does not speak this protocol. */
export class FrameReader {
  // Invariant: less than one whole frame.
  #rest = none;

  take(chunk: Uint8Array): Frame[] {
    const frames: Frame[] = [];
    let left = this.#rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([this.#rest, chunk]);
    while (left.length >= headBytes) {
      const kind = kindOf.get(left.readUInt8(0));
      const length = left.readUInt32BE(1);
      if (kind === undefined) throw new Error(`${left.readUInt8(0)} is no kind of frame`);
      if (length > frameBytesMax) throw new Error(`a frame of ${length} bytes is too long`);
      if (left.length < headBytes + length) break;
      frames.push({ kind, bytes: left.subarray(headBytes, headBytes + length) });
      left = left.subarray(headBytes + length);
    }
    this.#rest = left;
    return frames;
  }
}
