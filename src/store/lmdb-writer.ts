import { statfsSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { asBuffer, forEachRecord, sizeOf } from './lmdb-batch.js';
import { compactSlice, recordsPerSliceMax } from './lmdb-compact.js';
import { type LmdbHandle, type LmdbSync, openLmdb } from './lmdb-environment.js';

/**
 * The writer thread of the lmdb store: it puts whole batches, flushes them and answers. It runs beside the
 * main thread because an lmdb commit waits for the disk. The package's own asynchronous writes are not used:
 * they answer before the sync by default, and a failed commit surfaces as an unhandled rejection.
 */
export interface WriterData {
  readonly dir: string;
  readonly sync: LmdbSync;
}

export type WriterRequest =
  | { readonly kind: 'write'; readonly batch: Uint8Array<ArrayBuffer>; readonly spareBytes: number }
  | { readonly kind: 'compact'; readonly upTo: number }
  | { readonly kind: 'close' };

/** A request that was not done, and whether that is certain. */
export type WriterFailure =
  /** Nothing was attempted, or lmdb gave up before it began to write: not applied. */
  | { readonly kind: 'full'; readonly message: string }
  /** lmdb could not say that the commit is on disk. */
  | { readonly kind: 'failed'; readonly message: string };

export type WriterReply =
  /** With the memory of the batch, for another one: to get new memory for each costs more than to fill it. */
  | { readonly kind: 'done'; readonly memory: ArrayBuffer }
  | { readonly kind: 'compacted'; readonly revision: number }
  | WriterFailure;

// A batch whose log records take more than this gives their memory back.
const logBytesKeptMax = 8 * 1024 * 1024;

const pageBytes = 4096;
// A record may dirty a leaf and the branches above it. Neighbours share branches, so three is generous.
const pagesPerRecord = 3;

// lmdb's own code for "the map is full": found out while putting, before anything is written.
const mapFullCode = -30_792;

/**
 * Looking first turns a full disk into a certain answer. Found out during the commit it would be an error that
 * cannot be told from a failing disk.
 */
function lackOfRoom(dir: string, records: number, bytes: number): WriterFailure | undefined {
  const disk = statfsSync(dir);
  const free = disk.bavail * disk.bsize;
  const needed = bytes + records * pagesPerRecord * pageBytes;
  if (free >= needed) return undefined;
  return {
    kind: 'full',
    message: `${free} bytes are free on the disk of ${dir}, this write may need ${needed}`,
  };
}

/** Memory for the log records of one batch after the other: to get new memory for each costs more than to fill it. */
class LogMemory {
  #bytes = Buffer.alloc(0);

  atLeast(bytes: number): Buffer {
    if (bytes <= this.#bytes.length) return this.#bytes;
    const larger = Buffer.allocUnsafeSlow(bytes);
    if (bytes <= logBytesKeptMax) this.#bytes = larger;
    return larger;
  }
}

function handle(
  database: LmdbHandle,
  dir: string,
  log: LogMemory,
  request: Exclude<WriterRequest, { kind: 'close' }>,
): WriterReply {
  try {
    if (request.kind === 'compact') {
      const lack = lackOfRoom(dir, recordsPerSliceMax, 0);
      if (lack !== undefined) return lack;
      return {
        kind: 'compacted',
        revision: database.transactionSync(() => compactSlice(database, request.upTo)),
      };
    }
    const batch = asBuffer(request.batch);
    const { records, logBytes } = sizeOf(batch);
    const lack = lackOfRoom(dir, records, batch.length + logBytes + request.spareBytes);
    if (lack !== undefined) return lack;
    const memory = log.atLeast(logBytes);
    database.transactionSync(() => {
      forEachRecord(batch, memory, (key, value) => void database.put(key, value));
    });
    return { kind: 'done', memory: request.batch.buffer };
  } catch (error) {
    const { code, message } = error as { code?: unknown; message: string };
    return {
      kind: code === mapFullCode ? 'full' : 'failed',
      message: `lmdb commit in ${dir} failed: ${message}`,
    };
  }
}

if (parentPort !== null) {
  const port = parentPort;
  const { dir, sync } = workerData as WriterData;
  const database = openLmdb(dir, sync);
  const log = new LogMemory();
  port.on('message', (request: WriterRequest) => {
    if (request.kind === 'close') {
      void database.close().then(() => port.close());
      return;
    }
    const reply = handle(database, dir, log, request);
    port.postMessage(reply, reply.kind === 'done' ? [reply.memory] : []);
  });
}
