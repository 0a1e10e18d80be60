import { closeSync, existsSync, fsyncSync, mkdirSync, openSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Env } from '../env/env.js';
import { BerthError } from '../model/errors.js';
import { asRevision } from './contract.js';
import { lockDirectory } from './directory-lock.js';
import { LmdbBatch } from './lmdb-batch.js';
import { dataFile, type LmdbSync } from './lmdb-environment.js';
import type { Meta } from './lmdb-layout.js';
import { LmdbReader } from './lmdb-reader.js';
import { LmdbWriterThread } from './lmdb-writer-thread.js';

const recoveryDelayMsMin = 100;
const recoveryDelayMsMax = 5_000;
// A commit that fails poisons the environment for readers too, a moment before the main thread hears of it.
const readAttemptsMax = 3;
const readRetryMs = 20;

/** The files of an lmdb store, its lock, and the two handles on it: a reader here, a writer in its thread. */
export class LmdbFiles {
  readonly #stop = new AbortController();
  // Set while the environment is closed and opened again: readers wait for it.
  #reopening: Promise<void> | undefined;

  private constructor(
    private readonly options: { readonly dir: string; readonly sync: LmdbSync; readonly env: Env },
    private readonly lock: { release(): void },
    private reader: LmdbReader,
    private writerThread: LmdbWriterThread,
  ) {}

  /** Takes the directory, and makes a store in it if there is none. */
  static async open(dir: string, sync: LmdbSync, env: Env): Promise<LmdbFiles> {
    try {
      mkdirSync(dir, { recursive: true, mode: 0o700 });
    } catch (error) {
      throw new BerthError(
        'StoreUnavailable',
        `cannot use ${dir} as a directory: ${(error as Error).message}`,
        { cause: error },
      );
    }
    const lock = lockDirectory(dir);
    try {
      const reader = LmdbReader.open(dir, sync);
      const files = new LmdbFiles({ dir, sync, env }, lock, reader, new LmdbWriterThread({ dir, sync }));
      if (reader.meta() === undefined) await files.#create();
      return files;
    } catch (error) {
      lock.release();
      throw error;
    }
  }

  get writer(): LmdbWriterThread {
    return this.writerThread;
  }

  /** For looks that must not wait: what is judged in between would be judged twice. Throws lmdb's own errors. */
  readonly current: LmdbReader['current'] = (key) => this.reader.current(key);

  /** The same, of names only. */
  readonly keysFrom: LmdbReader['keysFrom'] = (from, count) => this.reader.keysFrom(from, count);

  meta(): Meta {
    const meta = this.reader.meta();
    if (meta === undefined)
      throw new BerthError('StoreFormat', `${this.options.dir} has no readable meta record`);
    return meta;
  }

  refresh(): void {
    this.reader.refresh();
  }

  /** Reads, waiting while the files are being opened again. */
  async read<T>(look: (reader: LmdbReader) => T): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      await this.#reopening;
      try {
        return look(this.reader);
      } catch (error) {
        if (error instanceof BerthError) throw error;
        if (attempt >= readAttemptsMax) {
          throw new BerthError(
            'StoreUnavailable',
            `${this.options.dir} cannot be read: ${(error as Error).message}`,
            { cause: error },
          );
        }
        await this.options.env.sleep(readRetryMs);
      }
    }
  }

  /**
   * Opens the files anew, again and again, until a write can be flushed. Readers have them back at once, writers
   * when this resolves with what the files then say.
   */
  async recover(): Promise<Meta> {
    for (let delayMs = recoveryDelayMsMin; ; delayMs = Math.min(delayMs * 2, recoveryDelayMsMax)) {
      const reopened = this.#reopen();
      // Readers fail on their own if the files cannot be opened; they do not share this error.
      this.#reopening = reopened.catch(() => undefined);
      const isOpen = await reopened.then(
        () => true,
        () => false,
      );
      this.#reopening = undefined;
      await this.options.env.sleep(delayMs, this.#stop.signal);
      const meta = isOpen ? this.reader.meta() : undefined;
      if (meta === undefined) continue;
      // Rewriting what is there proves that a commit can be flushed, and puts the meta page that may or may not
      // have reached the disk beyond doubt.
      if (await this.writer.probe(new LmdbBatch().encode(meta.revision, meta.compacted))) {
        this.refresh();
        return meta;
      }
    }
  }

  /** Ends a recovery that is under way, with this reason. */
  giveUp(reason: Error): void {
    this.#stop.abort(reason);
  }

  async close(): Promise<void> {
    await this.#reopening;
    await this.writerThread.close();
    await this.reader.close();
    this.lock.release();
  }

  async #reopen(): Promise<void> {
    const { dir, sync } = this.options;
    await this.writerThread.close();
    await this.reader.close();
    // lmdb would make a new, empty store where the disk of the old one is missing.
    if (!existsSync(join(dir, dataFile)))
      throw new BerthError('StoreUnavailable', `${dir} has no ${dataFile}`);
    this.reader = LmdbReader.open(dir, sync);
    this.writerThread = new LmdbWriterThread({ dir, sync });
  }

  async #create(): Promise<void> {
    const { dir } = this.options;
    const reply = await this.writer.write(new LmdbBatch().encode(asRevision(1), asRevision(0)));
    if (reply.kind !== 'done') {
      await this.writerThread.close();
      await this.reader.close();
      const code = reply.kind === 'full' ? 'StoreFull' : 'StoreUnavailable';
      throw new BerthError(code, `cannot create a store in ${dir}: ${reply.message}`);
    }
    this.refresh();
    // lmdb syncs its files, not the directory entries that lead to them.
    for (const path of [dir, dirname(dir)]) {
      const descriptor = openSync(path, 'r');
      fsyncSync(descriptor);
      closeSync(descriptor);
    }
  }
}
