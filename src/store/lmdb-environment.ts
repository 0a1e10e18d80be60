import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { open, type RootDatabase } from 'lmdb';
import { BerthError } from '../model/errors.js';

/** The lmdb handle of one thread. Values and keys are bytes; nothing is encoded, cached or compressed here. */
export type LmdbHandle = RootDatabase<Buffer, Buffer>;

/** `none` gives up durability. It exists so that the durability test can show that it would notice. */
export type LmdbSync = 'flush' | 'none';

/** lmdb's name for its file in a directory. */
export const dataFile = 'data.mdb';

// Address space, not memory or disk: the file grows only as it fills.
const mapBytes = 64 * 1024 ** 3;

// lmdb's file begins with two meta pages; each has this number after its page header.
const metaPagesBytes = 8192;
const magicOffset = 24;
const magic = 0xbeefc0de;

export function openLmdb(dir: string, sync: LmdbSync): LmdbHandle {
  checkDataFile(dir);
  return open<Buffer, Buffer>({
    path: dir,
    // The suffix in a directory's name would make lmdb take it for a file.
    noSubdir: false,
    encoding: 'binary',
    keyEncoding: 'binary',
    mapSize: mapBytes,
    maxDbs: 1,
    // Plain LMDB commits: data pages, fdatasync, then the meta page through an O_DSYNC descriptor. The
    // package's default answers before the sync.
    overlappingSync: false,
    noSync: sync === 'none',
  });
}

/** lmdb maps the file and trusts it: what is no lmdb file at all would end the process. */
function checkDataFile(dir: string): void {
  const path = join(dir, dataFile);
  let descriptor: number;
  try {
    descriptor = openSync(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw new BerthError('StoreUnavailable', `cannot open ${path}: ${(error as Error).message}`, {
      cause: error,
    });
  }
  try {
    const { size } = fstatSync(descriptor);
    if (size === 0) return;
    const head = Buffer.alloc(4);
    readSync(descriptor, head, 0, 4, magicOffset);
    if (size < metaPagesBytes || head.readUInt32LE(0) !== magic) {
      throw new BerthError('StoreFormat', `${path} (${size} bytes) is not an lmdb file, or it is damaged`);
    }
  } finally {
    closeSync(descriptor);
  }
}
