import { spawn } from 'node:child_process';
import type { Env } from '../../env/env.js';

interface Watched {
  readonly bytesMax: number;
  readonly onFull: () => void;
}

// From one look to the next. A job may hold more for so long; a quota of the file system would be exact and needs one.
const lookMs = 2_000;

/** Looks at how much directories hold, all of them in one process, and only while there are any. */
export class ScratchWatch {
  readonly #watched = new Map<string, Watched>();
  #isLooking = false;

  constructor(private readonly env: Env) {}

  watch(directory: string, bytesMax: number, onFull: () => void): void {
    this.#watched.set(directory, { bytesMax, onFull });
    if (!this.#isLooking) this.env.after(lookMs, () => this.#look());
    this.#isLooking = true;
  }

  unwatch(directory: string): void {
    this.#watched.delete(directory);
  }

  #look(): void {
    this.#isLooking = this.#watched.size > 0;
    if (!this.#isLooking) return;
    let text = '';
    const du = spawn('du', ['--summarize', '--block-size=1', '--null', '--', ...this.#watched.keys()], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    let isOver = false;
    const over = (): void => {
      if (isOver) return;
      isOver = true;
      for (const entry of text.split('\0')) this.#tell(entry);
      this.env.after(lookMs, () => this.#look());
    };
    // One that could not be started need not close. A directory that changes meanwhile makes it complain, not stop.
    du.once('error', over);
    du.once('close', over);
    // Where no descriptor is left it has no output at all.
    const output = du.stdout as typeof du.stdout | undefined;
    output?.on('data', (chunk: Buffer) => (text += chunk.toString()));
  }

  #tell(entry: string): void {
    const [used = '', directory = ''] = entry.split('\t');
    const watched = this.#watched.get(directory);
    if (watched !== undefined && Number(used) > watched.bytesMax) watched.onFull();
  }
}
