/** A piece of a container's output. */
export interface StreamFrame {
  readonly stream: 'stdout' | 'stderr';
  readonly bytes: Buffer;
}

const headBytes = 8;

/** Cuts what an engine sends of two streams in one: a byte of which, three of nothing, four of length, and so many bytes. */
export class StreamFrames {
  #rest = Buffer.alloc(0);

  take(chunk: Uint8Array): StreamFrame[] {
    const frames: StreamFrame[] = [];
    let left = this.#rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([this.#rest, chunk]);
    while (left.length >= headBytes) {
      const length = left.readUInt32BE(4);
      if (left.length < headBytes + length) break;
      const stream = left[0] === 2 ? 'stderr' : 'stdout';
      frames.push({ stream, bytes: left.subarray(headBytes, headBytes + length) });
      left = left.subarray(headBytes + length);
    }
    this.#rest = left;
    return frames;
  }
}

/** Parts a line of a log from the time that the engine has put before it. */
export function timedLine(bytes: Buffer): { readonly time: string; readonly rest: Buffer } | undefined {
  const end = bytes.indexOf(32);
  const time = end === -1 ? '' : bytes.toString('utf8', 0, end);
  return Number.isNaN(Date.parse(time)) ? undefined : { time, rest: bytes.subarray(end + 1) };
}
