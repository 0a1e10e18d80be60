import { type FileHandle, open } from 'node:fs/promises';

const blockBytes = 64 * 1024;
// No record is nearly as long; what is was not written by us, and is passed over.
const lineBytesMax = 1024 * 1024;

/** The lines of one file, as far as it has been written; asked again, what was written since. */
export class LogLines {
  #rest = Buffer.alloc(0);
  readonly #block = Buffer.alloc(blockBytes);

  private constructor(
    private readonly handle: FileHandle,
    private offset: number,
  ) {}

  /** Undefined: there is no such file any more. */
  static async open(path: string, offset: number): Promise<LogLines | undefined> {
    try {
      return new LogLines(await open(path, 'r'), offset);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  }

  /** What is there now and was not told yet, without the beginning of a line that is being written. */
  async *more(): AsyncGenerator<string, void> {
    for (;;) {
      const { bytesRead } = await this.handle.read(this.#block, 0, blockBytes, this.offset);
      if (bytesRead === 0) return;
      this.offset += bytesRead;
      let left = Buffer.concat([this.#rest, this.#block.subarray(0, bytesRead)]);
      for (let end = left.indexOf(10); end !== -1; end = left.indexOf(10)) {
        yield left.toString('utf8', 0, end);
        left = left.subarray(end + 1);
      }
      this.#rest = left.length > lineBytesMax ? Buffer.alloc(0) : left;
    }
  }

  close(): Promise<void> {
    return this.handle.close();
  }
}
