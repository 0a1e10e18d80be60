import { type FileHandle, mkdir, open, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { Env } from '../../env/env.js';
import { wallTimestamp } from '../../env/instant.js';
import { LineSplitter } from './line-splitter.js';
import { logDirectory, type LogFile, logFileName, logFilesOf, surplusFiles } from './log-files.js';
import { type LogLabels, type LogStream, recordEncoder } from '../../model/log-record.js';

export interface LogWriterParts {
  /** The directory of all logs of the machine; the replica's own is made below it. */
  readonly dir: string;
  readonly labels: LogLabels;
  /** When a file has so many bytes the next one is begun. */
  readonly bytesMax: number;
  /** How many files an execution keeps, and the executions before it together. */
  readonly filesMax: number;
  readonly env: Env;
}

export const logBounds = { bytesMax: 10 * 1024 * 1024, filesMax: 5 } as const;

const lineBytesMax = 16 * 1024;
// Of what waits to be written; who has more is told to wait.
const waitingBytesMax = 1024 * 1024;

interface OpenFile {
  readonly handle: FileHandle;
  bytes: number;
}

/**
 * Writes the output of one execution into files that a reader and a log shipper can follow. What is written to it while
 * the disk does not take it (full, gone) is counted and lost, and the log says so when it can: a job never waits for
 * its log longer than the disk needs.
 */
export class LogWriter {
  readonly #encode: ReturnType<typeof recordEncoder>;
  readonly #splitters = {
    stdout: new LineSplitter(lineBytesMax),
    stderr: new LineSplitter(lineBytesMax),
  };
  readonly #directory: string;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #writing: Promise<void> | undefined;
  #file: OpenFile | undefined;
  #lost = { lines: 0, why: '' };
  readonly #taken: Promise<void>[] = [];

  private constructor(private readonly parts: LogWriterParts) {
    this.#encode = recordEncoder(parts.labels);
    this.#directory = logDirectory(parts.dir, parts.labels);
  }

  /** Goes on where an earlier writer of the same execution stopped. Never fails: a log that cannot be kept is lost, not the job. */
  static async open(parts: LogWriterParts): Promise<LogWriter> {
    const writer = new LogWriter(parts);
    await writer.#begin().catch((error: unknown) => writer.#lose(0, error));
    return writer;
  }

  /** False: enough waits to be written; write no more before `drained`. `time`: when it was said, if not now. */
  write(stream: 'stdout' | 'stderr', bytes: Uint8Array, time?: string): boolean {
    const at = time ?? this.#now();
    for (const piece of this.#splitters[stream].take(bytes)) this.#add(at, stream, piece);
    return this.#waitingBytes < waitingBytesMax;
  }

  /** Resolves when everything so far is written, or lost. */
  async drained(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
  }

  /** Takes all that comes from a stream, no faster than it can be written. */
  take(stream: 'stdout' | 'stderr', from: Readable): void {
    const taking = async (): Promise<void> => {
      // Whoever reads a pipe of a job that was killed may see it break: what came before counts.
      try {
        for await (const bytes of from) if (!this.write(stream, bytes as Buffer)) await this.drained();
      } catch {
        from.destroy();
      }
    };
    this.#taken.push(taking());
  }

  /** When what was taken has ended: the rest of the last line is written, and the files stay. */
  async close(): Promise<void> {
    await Promise.all(this.#taken);
    for (const stream of ['stdout', 'stderr'] as const) {
      const rest = this.#splitters[stream].end();
      if (rest !== undefined) this.#add(this.#now(), stream, rest);
    }
    await this.drained();
    await this.#leaveFile();
  }

  #now(): string {
    return wallTimestamp(this.parts.env.clock.wall());
  }

  #add(
    time: string,
    stream: LogStream,
    { bytes, isPartial }: { readonly bytes: Buffer; readonly isPartial: boolean },
  ): void {
    const line = this.#encode(time, stream, bytes, isPartial);
    this.#waiting.push(line);
    this.#waitingBytes += line.length;
    this.#writing ??= this.#flush();
  }

  async #flush(): Promise<void> {
    // What arrives in this turn is written together.
    await this.parts.env.yield();
    while (this.#waiting.length > 0) {
      const lines = this.#waiting;
      this.#waiting = [];
      this.#waitingBytes = 0;
      await this.#put(lines).catch(async (error: unknown) => {
        this.#lose(lines.length, error);
        // Part of a line may have been written: the file is opened again and begins a new one.
        await this.#leaveFile();
      });
    }
    this.#writing = undefined;
  }

  /** Lines in as many files as they need. */
  async #put(lines: readonly Buffer[]): Promise<void> {
    for (let from = 0; from < lines.length;) {
      const file = await this.#roomyFile();
      let to = from;
      let bytes = file.bytes;
      while (to < lines.length && (to === from || bytes < this.parts.bytesMax))
        bytes += lines[to++]?.length ?? 0;
      const part = Buffer.concat(lines.slice(from, to));
      await file.handle.appendFile(part);
      file.bytes += part.length;
      from = to;
    }
  }

  async #roomyFile(): Promise<OpenFile> {
    if (this.#file === undefined || this.#file.bytes >= this.parts.bytesMax) await this.#begin();
    const file = this.#file;
    if (file === undefined) throw new Error('no file could be made');
    if (this.#lost.lines > 0) {
      const { lines, why } = this.#lost;
      const words = Buffer.from(`up to ${lines} lines were not kept: ${why}`);
      const note = this.#encode(this.#now(), 'berth', words, false);
      await file.handle.appendFile(note);
      file.bytes += note.length;
      this.#lost = { lines: 0, why: '' };
    }
    return file;
  }

  /** Opens the newest file of this execution if it has room, else the next one, and removes those that are too many. */
  async #begin(): Promise<void> {
    const { execution } = this.parts.labels;
    await this.#leaveFile();
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    const files = logFilesOf(await readdir(this.#directory));
    const newest = files.findLast((file) => file.execution === execution);
    let at: LogFile = newest ?? { execution, part: 1 };
    let handle = await this.#append(at);
    let bytes = (await handle.stat()).size;
    if (bytes >= this.parts.bytesMax) {
      await handle.close();
      at = { execution, part: at.part + 1 };
      handle = await this.#append(at);
      bytes = 0;
    }
    // A writer that was killed in the middle of a line has left its beginning: nothing of ours is added to it.
    if (bytes > 0 && !(await endsWithLineEnd(handle, bytes))) await handle.appendFile('\n');
    this.#file = { handle, bytes };
    const all = at === newest ? files : [...files, at];
    for (const old of surplusFiles(all, execution, this.parts.filesMax))
      await rm(join(this.#directory, logFileName(old)), { force: true });
  }

  async #leaveFile(): Promise<void> {
    await this.#file?.handle.close().catch(() => undefined);
    this.#file = undefined;
  }

  #append(file: LogFile): Promise<FileHandle> {
    return open(join(this.#directory, logFileName(file)), 'a+', 0o600);
  }

  #lose(lines: number, error: unknown): void {
    const why = error instanceof Error ? error.message : String(error);
    this.#lost = { lines: this.#lost.lines + lines, why };
  }
}

async function endsWithLineEnd(handle: FileHandle, size: number): Promise<boolean> {
  const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer[0] === 10;
}
