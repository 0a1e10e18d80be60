import { JournalFile } from './journal-file.js';

/**
 * Replicas that this node was told to stop before it had started them. It will never start them, whatever it is told later
 * or by whom: it says that they have stopped only after that is written down (DESIGN §8).
 */
export interface Refusals {
  has(uid: string): boolean;
  /** `onDone`: it is known also to the next life of the agent; with what is wrong if it is not. Told once, either way. */
  add(uid: string, onDone: (problem?: string) => void): void;
  /** The control plane does not know the replica any more: nobody will ask. */
  delete(uid: string): void;
}

/** For nodes on which nothing runs. */
export class MemoryRefusals implements Refusals {
  readonly #uids = new Set<string>();

  has(uid: string): boolean {
    return this.#uids.has(uid);
  }

  add(uid: string, onDone: () => void): void {
    this.#uids.add(uid);
    onDone();
  }

  delete(uid: string): void {
    this.#uids.delete(uid);
  }
}

interface Refusal {
  readonly uid: string;
  readonly isOver?: true;
}

/** In a file of the agent's directory. */
export class RefusalFile implements Refusals {
  readonly #uids: Set<string>;
  readonly #journal: JournalFile<Refusal>;

  constructor(
    path: string,
    newId: () => string,
    private readonly onProblem: (message: string) => void,
  ) {
    const shape = { kept: standing, isEntry: isRefusal, newId };
    const { journal, entries, damage } = JournalFile.open<Refusal>(path, shape);
    if (damage !== undefined) onProblem(damage);
    this.#journal = journal;
    this.#uids = new Set(entries.map(({ uid }) => uid));
  }

  /** See `JournalFile`. */
  get journal(): string {
    return this.#journal.id;
  }

  has(uid: string): boolean {
    return this.#uids.has(uid);
  }

  add(uid: string, onDone: (problem?: string) => void): void {
    if (this.#uids.has(uid)) return onDone();
    this.#journal.append({ uid }, (problem) => {
      if (problem === undefined) this.#uids.add(uid);
      else this.onProblem(`cannot write down that ${uid} is refused: ${problem}`);
      onDone(problem);
    });
  }

  delete(uid: string): void {
    if (this.#uids.delete(uid)) this.#journal.append({ uid, isOver: true });
  }

  close(): void {
    this.#journal.close();
  }
}

const isRefusal = (line: unknown): line is Refusal =>
  typeof line === 'object' && line !== null && 'uid' in line && typeof line.uid === 'string';

function standing(entries: readonly Refusal[]): Refusal[] {
  const uids = new Set<string>();
  for (const { uid, isOver } of entries) {
    if (isOver === true) uids.delete(uid);
    else uids.add(uid);
  }
  return [...uids].map((uid) => ({ uid }));
}
