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
    du.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
    // A directory that changes meanwhile makes it complain, not stop.
    du.once('error', () => undefined);
    du.once('close', () => {
      for (const entry of text.split('\0')) this.#tell(entry);
      this.env.after(lookMs, () => this.#look());
    });
  }

  #tell(entry: string): void {
    const [used = '', directory = ''] = entry.split('\t');
    const watched = this.#watched.get(directory);
    if (watched !== undefined && Number(used) > watched.bytesMax) watched.onFull();
  }
}
