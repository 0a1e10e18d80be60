import { open, type RootDatabase } from 'lmdb';

/** The lmdb handle of one thread. Values and keys are bytes; nothing is encoded, cached or compressed here. */
export type LmdbHandle = RootDatabase<Buffer, Buffer>;

/** `none` gives up durability. It exists so that the durability test can show that it would notice. */
export type LmdbSync = 'flush' | 'none';

// Address space, not memory or disk: the file grows only as it fills.
const mapBytes = 64 * 1024 ** 3;

export function openLmdb(dir: string, sync: LmdbSync): LmdbHandle {
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
