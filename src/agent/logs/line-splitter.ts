/** A line, or as much of it as fits into one record. */
export interface LinePiece {
  readonly bytes: Buffer;
  /** No line end followed. */
  readonly isPartial: boolean;
}

/** Cuts one stream of output into lines; one that is longer than `bytesMax` comes in pieces, so that little is kept. */
export class LineSplitter {
  // Invariant: holds no line end, and less than `bytesMax` bytes.
  #rest: Buffer = Buffer.alloc(0);

  constructor(private readonly bytesMax: number) {}

  take(bytes: Uint8Array): LinePiece[] {
    const pieces: LinePiece[] = [];
    let left = this.#rest.length === 0 ? Buffer.from(bytes) : Buffer.concat([this.#rest, bytes]);
    while (left.length > 0) {
      const end = left.indexOf(10);
      if (end !== -1 && end <= this.bytesMax) {
        pieces.push({ bytes: left.subarray(0, end), isPartial: false });
        left = left.subarray(end + 1);
      } else if (left.length > this.bytesMax) {
        const cut = characterStart(left, this.bytesMax);
        pieces.push({ bytes: left.subarray(0, cut), isPartial: true });
        left = left.subarray(cut);
      } else break;
    }
    // A copy: a slice would keep all that came with it.
    this.#rest = Buffer.from(left);
    return pieces;
  }

  /** What has no line end yet. Nothing more comes. */
  end(): LinePiece | undefined {
    const bytes = this.#rest;
    this.#rest = Buffer.alloc(0);
    return bytes.length === 0 ? undefined : { bytes, isPartial: true };
  }
}

// In UTF-8 a character has at most three bytes after its first.
const continuationMax = 3;

/** The last place at or before `at` where a character of UTF-8 starts; `at` itself if there is none near. */
function characterStart(bytes: Buffer, at: number): number {
  for (let back = 0; back <= continuationMax && back < at; back++) {
    const byte = bytes[at - back];
    if (byte === undefined || (byte & 0xc0) !== 0x80) return at - back;
  }
  return at;
}
