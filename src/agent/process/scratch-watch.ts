import { spawn } from 'node:child_process';
import type { Env, Timer } from '../../env/env.js';

interface Watched {
  readonly bytesMax: number;
  readonly onFull: () => void;
}

// From one look to the next. A job may hold more for so long; a quota of the file system would be exact and needs one.
const lookMs = 2_000;

/** Looks at how much directories hold, all of them in one process, and only while there are any. */
export class ScratchWatch {
  readonly #watched = new Map<string, Watched>();
  #timer: Timer | undefined;

  constructor(private readonly env: Env) {}

  watch(directory: string, bytesMax: number, onFull: () => void): void {
    this.#watched.set(directory, { bytesMax, onFull });
    this.#timer ??= this.env.after(lookMs, () => this.#look());
  }

  unwatch(directory: string): void {
    this.#watched.delete(directory);
  }

  #look(): void {
    this.#timer = undefined;
    if (this.#watched.size === 0) return;
    let text = '';
    const du = spawn('du', ['--summarize', '--block-size=1', '--null', '--', ...this.#watched.keys()], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    du.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
    // A directory that changes meanwhile makes it complain, not stop.
    du.once('error', () => undefined);
    du.once('close', () => {
      for (const entry of text.split('\0')) this.#tell(entry);
      this.#timer ??= this.env.after(lookMs, () => this.#look());
    });
  }

  #tell(entry: string): void {
    const [used = '', directory = ''] = entry.split('\t');
    const watched = this.#watched.get(directory);
    if (watched !== undefined && Number(used) > watched.bytesMax) watched.onFull();
  }
}
