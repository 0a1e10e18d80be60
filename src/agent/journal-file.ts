import {
  closeSync,
  fdatasync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
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
  // The file may end within a line: a full disk took part of it. What comes next begins a line of its own.
  #isTorn: boolean;
  readonly #entries: Entry[];

  private constructor(
    private readonly path: string,
    /** What still counts of entries, in their order. */
    private readonly kept: (entries: readonly Entry[]) => readonly Entry[],
    entries: readonly Entry[],
    isTorn: boolean,
  ) {
    this.#entries = [...entries];
    this.#lines = entries.length;
    this.#isTorn = isTorn;
    this.#descriptor = openSync(path, 'a', 0o600);
  }

  /** Opens it and gives what it says. The end of a line that was being written when the machine stopped is left out. */
  static open<Entry>(
    path: string,
    kept: (entries: readonly Entry[]) => readonly Entry[],
  ): { readonly journal: JournalFile<Entry>; readonly entries: readonly Entry[] } {
    const entries = kept(readEntries<Entry>(path));
    // On a full disk it stays as it is, and is read and added to: what runs has to be known now more than ever.
    const isWhole = isWrittenWhole(path, entries);
    return { journal: new JournalFile(path, kept, entries, !isWhole), entries };
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
      this.#isTorn = error !== null;
      this.#lines += batch.length;
      for (const { onDurable } of batch) onDurable?.(error?.message);
      this.#tidy();
      this.#write();
    };
    // What nobody waits for is not worth a flush: it is written, and outlives this process.
    const isAwaited = batch.some(({ onDurable }) => onDurable !== undefined);
    const text = batch.map(({ line }) => line).join('');
    this.#put(Buffer.from(this.#isTorn ? `\n${text}` : text), (error) => {
      if (error !== null || !isAwaited) done(error);
      else fdatasync(this.#descriptor, done);
    });
  }

  /** All of it: a disk that is nearly full takes a part, and says so only when it is asked to take the rest. */
  #put(bytes: Buffer, done: (error: Error | null) => void): void {
    write(this.#descriptor, bytes, 0, bytes.length, null, (error, written) => {
      if (error !== null || written === bytes.length) done(error);
      else this.#put(bytes.subarray(written), done);
    });
  }

  /** Keeps the file as small as what it says. Between two writes, so that nothing is lost. */
  #tidy(): void {
    if (this.#lines < surplusLinesMax) return;
    const kept = this.kept(this.#entries);
    this.#entries.splice(0, this.#entries.length, ...kept);
    if (this.#lines < kept.length + surplusLinesMax) return;
    // If it cannot be, the longer one says the same; after as many lines more it is tried again.
    this.#lines = kept.length;
    if (!isWrittenWhole(this.path, kept)) return;
    const longer = this.#descriptor;
    this.#descriptor = openSync(this.path, 'a');
    closeSync(longer);
    this.#isTorn = false;
    // Lines that wait are said again after what was written anew: each is the last word of what it is about.
  }
}

/** Writes it anew with these entries alone. False: the disk does not take it, and the file is as it was. */
function isWrittenWhole(path: string, entries: readonly unknown[]): boolean {
  const next = `${path}.next`;
  try {
    writeFileSync(next, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''), { mode: 0o600 });
    flush(next);
  } catch {
    rmSync(next, { force: true });
    return false;
  }
  renameSync(next, path);
  flush(dirname(path));
  return true;
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
