import {
  closeSync,
  fdatasync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  write,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';

interface Waiting {
  readonly line: string;
  readonly onDurable: ((problem?: string) => void) | undefined;
}

// It is written anew when it has so many more lines than there is to say.
const surplusLinesMax = 2_000;

/** What is written down before it is done: lines of JSON in one file. Those that come together share a flush. */
export class JournalFile<Entry> {
  #descriptor: number;
  #lines: number;
  // Only what came while the last flush was under way.
  #waiting: Waiting[] = [];
  #isWriting = false;
  readonly #entries: Entry[];

  private constructor(
    private readonly path: string,
    /** What still counts of entries, in their order. */
    private readonly kept: (entries: readonly Entry[]) => readonly Entry[],
    entries: readonly Entry[],
  ) {
    this.#entries = [...entries];
    this.#lines = entries.length;
    this.#descriptor = openSync(path, 'a', 0o600);
  }

  /** Opens it and gives what it says. The end of a line that was being written when the machine stopped is left out. */
  static open<Entry>(
    path: string,
    kept: (entries: readonly Entry[]) => readonly Entry[],
  ): { readonly journal: JournalFile<Entry>; readonly entries: readonly Entry[] } {
    const entries = kept(readEntries<Entry>(path));
    writeWhole(path, entries);
    return { journal: new JournalFile(path, kept, entries), entries };
  }

  /** `onDurable`: it will be there after a crash of the machine. With a message if it will not. */
  append(entry: Entry, onDurable?: (problem?: string) => void): void {
    this.#entries.push(entry);
    this.#waiting.push({ line: `${JSON.stringify(entry)}\n`, onDurable });
    if (!this.#isWriting) this.#write();
  }

  close(): void {
    closeSync(this.#descriptor);
  }

  #write(): void {
    const batch = this.#waiting;
    if (batch.length === 0) return;
    this.#waiting = [];
    this.#isWriting = true;
    const done = (error: Error | null): void => {
      this.#isWriting = false;
      this.#lines += batch.length;
      for (const { onDurable } of batch) onDurable?.(error?.message);
      this.#tidy();
      this.#write();
    };
    // What nobody waits for is not worth a flush: it is written, and outlives this process.
    const isAwaited = batch.some(({ onDurable }) => onDurable !== undefined);
    write(this.#descriptor, batch.map(({ line }) => line).join(''), (error) => {
      if (error !== null || !isAwaited) done(error);
      else fdatasync(this.#descriptor, done);
    });
  }

  /** Keeps the file as small as what it says. Between two writes, so that nothing is lost. */
  #tidy(): void {
    if (this.#lines < surplusLinesMax) return;
    const kept = this.kept(this.#entries);
    this.#entries.splice(0, this.#entries.length, ...kept);
    if (this.#lines < kept.length + surplusLinesMax) return;
    writeWhole(this.path, kept);
    closeSync(this.#descriptor);
    this.#descriptor = openSync(this.path, 'a');
    this.#lines = kept.length;
    // Lines that wait are said again after what was written anew: each is the last word of what it is about.
  }
}

function writeWhole(path: string, entries: readonly unknown[]): void {
  const next = `${path}.next`;
  writeFileSync(next, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''), { mode: 0o600 });
  flush(next);
  renameSync(next, path);
  flush(dirname(path));
}

function flush(path: string): void {
  const descriptor = openSync(path, 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
}

function readEntries<Entry>(path: string): Entry[] {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    return [];
  }
  return text.split('\n').flatMap((line) => {
    try {
      // A parsed boundary: a file that only this class writes.
      return line === '' ? [] : [JSON.parse(line) as Entry];
    } catch {
      return [];
    }
  });
}
