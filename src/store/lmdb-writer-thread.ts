import assert from 'node:assert';
import { Worker } from 'node:worker_threads';
import type { WriterData, WriterFailure, WriterReply, WriterRequest } from './lmdb-writer.js';

// Left free on the disk by ordinary writes, so that compaction and recovery still have room.
const spareBytes = 1024 * 1024;

/** The main thread's end of the writer thread: one request at a time, each answered exactly once. */
export class LmdbWriterThread {
  readonly #worker: Worker;
  #waiting: ((reply: WriterReply) => void) | undefined;
  readonly #ended: Promise<void>;
  #isEnded = false;
  #lastWords = 'the writer thread has ended';

  constructor(data: WriterData) {
    this.#worker = new Worker(new URL('./lmdb-writer.js', import.meta.url), { workerData: data });
    // What keeps a process alive is a request that waits for its answer, not the thread.
    this.#worker.unref();
    this.#worker.on('message', (reply: WriterReply) => this.#answer(reply));
    this.#worker.on('error', (error) => {
      this.#lastWords = `the writer thread failed: ${error.message}`;
    });
    this.#ended = new Promise((resolve) => {
      this.#worker.once('exit', () => {
        this.#isEnded = true;
        this.#answer({ kind: 'failed', message: this.#lastWords });
        resolve();
      });
    });
  }

  /** Puts a batch and flushes it. The batch's memory is handed over, and comes back when it is done. */
  async write(
    batch: Uint8Array<ArrayBuffer>,
  ): Promise<Extract<WriterReply, { kind: 'done' }> | WriterFailure> {
    const reply = await this.#request({ kind: 'write', batch, spareBytes }, [batch.buffer]);
    assert(reply.kind !== 'compacted');
    return reply;
  }

  /** A small write that may use the last room there is: it shows whether the disk takes writes at all. */
  async probe(batch: Uint8Array<ArrayBuffer>): Promise<boolean> {
    return (await this.#request({ kind: 'write', batch, spareBytes: 0 }, [batch.buffer])).kind === 'done';
  }

  async compact(
    upTo: number,
  ): Promise<{ readonly kind: 'compacted'; readonly revision: number } | WriterFailure> {
    const reply = await this.#request({ kind: 'compact', upTo }, []);
    assert(reply.kind !== 'done');
    return reply;
  }

  close(): Promise<void> {
    if (this.#isEnded) return this.#ended;
    this.#worker.ref();
    this.#worker.postMessage({ kind: 'close' } satisfies WriterRequest);
    return this.#ended;
  }

  #request(request: WriterRequest, transfer: readonly ArrayBuffer[]): Promise<WriterReply> {
    assert(this.#waiting === undefined, 'the writer thread takes one request at a time');
    if (this.#isEnded) return Promise.resolve({ kind: 'failed', message: this.#lastWords });
    return new Promise((resolve) => {
      this.#waiting = resolve;
      this.#worker.ref();
      this.#worker.postMessage(request, transfer);
    });
  }

  #answer(reply: WriterReply): void {
    const waiting = this.#waiting;
    if (waiting === undefined) return;
    this.#waiting = undefined;
    this.#worker.unref();
    waiting(reply);
  }
}
