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
import type { JournalEntry, RunJournal } from './machine.js';
import { pastRuns } from './past-runs.js';

/** Nothing is ever waiting but what came while the last flush was under way: callers share flushes. */
interface Waiting {
  readonly line: string;
  readonly onDurable: ((problem?: string) => void) | undefined;
}

// It is written anew when it has so many more lines than replicas.
const surplusLinesMax = 2_000;

/** A journal of lines of JSON in one file. */
export class JournalFile implements RunJournal {
  #descriptor: number;
  #lines: number;
  #waiting: Waiting[] = [];
  #isWriting = false;

  private constructor(
    private readonly path: string,
    private readonly entries: JournalEntry[],
  ) {
    this.#lines = entries.length;
    this.#descriptor = openSync(path, 'a', 0o600);
  }

  /** Opens it and gives what it says. The end of a line that was being written when the machine stopped is left out. */
  static open(path: string): { readonly journal: JournalFile; readonly entries: readonly JournalEntry[] } {
    const entries = [...pastRuns(readEntries(path)).values()];
    writeWhole(path, entries);
    return { journal: new JournalFile(path, entries), entries };
  }

  append(entry: JournalEntry, onDurable?: (problem?: string) => void): void {
    this.entries.push(entry);
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
    // What nobody waits for need not be flushed by itself: a crash of the machine ends the jobs it is about.
    const isAwaited = batch.some(({ onDurable }) => onDurable !== undefined);
    write(this.#descriptor, batch.map(({ line }) => line).join(''), (error) => {
      if (error !== null || !isAwaited) done(error);
      else fdatasync(this.#descriptor, done);
    });
  }

  /** Keeps the file as small as what it says. Between two writes, so that nothing is lost. */
  #tidy(): void {
    if (this.#lines < surplusLinesMax) return;
    const kept = [...pastRuns(this.entries).values()];
    this.entries.splice(0, this.entries.length, ...kept);
    if (this.#lines < kept.length + surplusLinesMax) return;
    writeWhole(this.path, kept);
    closeSync(this.#descriptor);
    this.#descriptor = openSync(this.path, 'a');
    this.#lines = kept.length;
  }
}

function writeWhole(path: string, entries: readonly JournalEntry[]): void {
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

function readEntries(path: string): JournalEntry[] {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    return [];
  }
  return text.split('\n').flatMap((line) => {
    try {
      // A parsed boundary: a file that only this class writes.
      return line === '' ? [] : [JSON.parse(line) as JournalEntry];
    } catch {
      return [];
    }
  });
}
