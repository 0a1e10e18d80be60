import {
  closeSync,
  copyFileSync,
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
// Ends a line of which a full disk took a part only. What was to be in it was never said to be written.
const tornMark = '<torn';

export interface JournalShape<Entry> {
  /** What still counts of entries, in their order. */
  readonly kept: (entries: readonly Entry[]) => readonly Entry[];
  readonly isEntry: (line: unknown) => line is Entry;
  readonly newId: () => string;
}

export interface OpenJournal<Entry> {
  readonly journal: JournalFile<Entry>;
  readonly entries: readonly Entry[];
  /** What was wrong with it, for people; undefined: nothing. */
  readonly damage: string | undefined;
}

/**
 * What is written down before it is done: lines of JSON in one file. Those that come together share a flush.
 *
 * Invariant [S5]: as long as `id` is the same, everything that was ever said to be written is among the entries, but for what
 * does not count any more. It stands in the first line, so that it is lost with the file, and is another one as soon as any
 * line cannot be read.
 */
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
    readonly id: string,
    private readonly kept: JournalShape<Entry>['kept'],
    entries: readonly Entry[],
    isTorn: boolean,
  ) {
    this.#entries = [...entries];
    this.#lines = entries.length;
    this.#isTorn = isTorn;
    this.#descriptor = openSync(path, 'a', 0o600);
  }

  /** Opens it and gives what it says. The end of a line that was being written when the machine stopped is left out. */
  static open<Entry>(path: string, { kept, isEntry, newId }: JournalShape<Entry>): OpenJournal<Entry> {
    const found = readJournal(path, isEntry);
    const damage = found.damage && `${path} is damaged: ${found.damage}; it is kept as ${keptAside(path)}`;
    const id = (damage === undefined && found.id) || newId();
    const entries = kept(found.entries);
    // On a full disk it stays as it is, and is read and added to: what runs has to be known now more than ever.
    const isWhole = isWrittenWhole(path, id, entries);
    return { journal: new JournalFile(path, id, kept, entries, !isWhole), entries, damage };
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
    this.#put(Buffer.from(this.#isTorn ? `${tornMark}\n${text}` : text), (error) => {
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
    if (!isWrittenWhole(this.path, this.id, kept)) return;
    const longer = this.#descriptor;
    this.#descriptor = openSync(this.path, 'a');
    closeSync(longer);
    this.#isTorn = false;
    // Lines that wait are said again after what was written anew: each is the last word of what it is about.
  }
}

/** Writes it anew with these entries alone. False: the disk does not take it, and the file is as it was. */
function isWrittenWhole(path: string, id: string, entries: readonly unknown[]): boolean {
  const next = `${path}.next`;
  try {
    const lines = [{ journal: id }, ...entries].map((line) => `${JSON.stringify(line)}\n`);
    writeFileSync(next, lines.join(''), { mode: 0o600 });
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

interface Found<Entry> {
  readonly id?: string;
  readonly entries: readonly Entry[];
  readonly damage?: string;
}

function readJournal<Entry>(path: string, isEntry: (line: unknown) => line is Entry): Found<Entry> {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return 'code' in error && error.code === 'ENOENT'
      ? { entries: [] }
      : { entries: [], damage: error.message };
  }
  const lines = text.split('\n');
  const entries: Entry[] = [];
  let id: string | undefined;
  let damaged = 0;
  for (const [index, line] of lines.entries()) {
    if (line === '' || line.endsWith(tornMark)) continue;
    const read = parsed(line);
    if (index === 0 && isHeader(read)) id = read.journal;
    else if (isEntry(read)) entries.push(read);
    // The last has no end: it was being written.
    else if (index < lines.length - 1) damaged += 1;
  }
  return {
    entries,
    ...(id !== undefined && { id }),
    ...(damaged > 0 && { damage: `${damaged} of ${lines.length} lines cannot be read` }),
  };
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

const isHeader = (line: unknown): line is { readonly journal: string } =>
  typeof line === 'object' && line !== null && 'journal' in line && typeof line.journal === 'string';

/** For people to look at; the last one only. What cannot be copied is moved: it could not be read either. */
function keptAside(path: string): string {
  const aside = `${path}.damaged`;
  rmSync(aside, { force: true, recursive: true });
  try {
    copyFileSync(path, aside);
  } catch {
    renameSync(path, aside);
  }
  return aside;
}
