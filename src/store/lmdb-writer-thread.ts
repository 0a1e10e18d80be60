import { Worker } from 'node:worker_threads';
import type { WriterData, WriterReply, WriterRequest } from './lmdb-writer.js';

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

  request(request: WriterRequest & { kind: 'write' | 'compact' }): Promise<WriterReply> {
    if (this.#waiting !== undefined) throw new Error('the writer thread takes one request at a time');
    if (this.#isEnded) return Promise.resolve({ kind: 'failed', message: this.#lastWords });
    return new Promise((resolve) => {
      this.#waiting = resolve;
      this.#worker.ref();
      if (request.kind === 'write') {
        // Handed over, not copied.
        this.#worker.postMessage(request, [request.batch.buffer as ArrayBuffer]);
      } else {
        this.#worker.postMessage(request);
      }
    });
  }

  close(): Promise<void> {
    if (this.#isEnded) return this.#ended;
    this.#worker.ref();
    this.#worker.postMessage({ kind: 'close' } satisfies WriterRequest);
    return this.#ended;
  }

  #answer(reply: WriterReply): void {
    const waiting = this.#waiting;
    if (waiting === undefined) return;
    this.#waiting = undefined;
    this.#worker.unref();
    waiting(reply);
  }
}
