import { statfsSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { asBuffer, forEachRecord } from './lmdb-batch.js';
import { compactSlice } from './lmdb-compact.js';
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
  | { readonly kind: 'write'; readonly batch: Uint8Array }
  | { readonly kind: 'compact'; readonly upTo: number }
  | { readonly kind: 'close' };

export type WriterReply =
  | { readonly kind: 'done' }
  | { readonly kind: 'compacted'; readonly revision: number }
  /** Nothing was attempted or lmdb had to give up before it could write its meta page: not applied. */
  | { readonly kind: 'full'; readonly message: string }
  /** lmdb could not say that the commit is on disk. */
  | { readonly kind: 'failed'; readonly message: string };

const pageBytes = 4096;
// A record may dirty a leaf and the branches above it. Neighbours share branches, so three is generous.
const pagesPerRecord = 3;
const spareBytes = 1024 * 1024;

const mapFull = -30_792;
const fullCodes = new Set<unknown>([mapFull, 28 /* ENOSPC */, 122 /* EDQUOT */]);

function handle(
  database: LmdbHandle,
  dir: string,
  request: Exclude<WriterRequest, { kind: 'close' }>,
): WriterReply {
  try {
    if (request.kind === 'compact') {
      return {
        kind: 'compacted',
        revision: database.transactionSync(() => compactSlice(database, request.upTo)),
      };
    }
    const batch = asBuffer(request.batch);
    let records = 0;
    forEachRecord(batch, () => (records += 1));
    const needed = batch.length + records * pagesPerRecord * pageBytes + spareBytes;
    // Looking first turns a full disk into a certain answer. Found out during the commit it would be lmdb's
    // EIO, which cannot be told from a failing disk.
    const disk = statfsSync(dir);
    const free = disk.bavail * disk.bsize;
    if (free < needed)
      return {
        kind: 'full',
        message: `${free} bytes are free on the disk of ${dir}, a write needs ${needed}`,
      };
    database.transactionSync(() => {
      forEachRecord(batch, (key, value) => void database.put(key, value));
    });
    return { kind: 'done' };
  } catch (error) {
    const { code, message } = error as { code?: unknown; message: string };
    return {
      kind: fullCodes.has(code) ? 'full' : 'failed',
      message: `lmdb commit in ${dir} failed: ${message}`,
    };
  }
}

if (parentPort !== null) {
  const port = parentPort;
  const { dir, sync } = workerData as WriterData;
  const database = openLmdb(dir, sync);
  port.on('message', (request: WriterRequest) => {
    if (request.kind === 'close') {
      void database.close().then(() => port.close());
      return;
    }
    port.postMessage(handle(database, dir, request));
  });
}
