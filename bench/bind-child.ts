import { join } from 'node:path';
import { realEnv } from '../src/env/real.js';
import { LmdbStore } from '../src/store/lmdb.js';
import { openLmdb } from '../src/store/lmdb-environment.js';
import { type CellShape, openBindCell } from './bind-cell.js';
import { bindAll, type BindLoad, rawSeconds, WriteRecorder } from './bind-load.js';

/** What the process of one cell is started with. */
export interface BindChildOptions {
  readonly dir: string;
  readonly shape: CellShape;
  readonly bindsPerRound: number;
}

/** What it answers to each message: a round of binds, and the same puts on raw lmdb right after it. */
export interface BindRound extends BindLoad {
  readonly rawPerSecond: number;
  readonly transactions: number;
  readonly flushes: number;
  readonly puts: number;
  readonly bytes: number;
}

// A cell on lmdb whose replicas are bound some at a time, in a process of its own, as that of a server is: in one heap with
// others it would be stopped for the collection of theirs.
const { dir, shape, bindsPerRound } = JSON.parse(process.argv[2] ?? '') as BindChildOptions;
const recorder = new WriteRecorder();
const store = await LmdbStore.open({ dir: join(dir, 'store'), env: realEnv(), onBatch: recorder.onBatch });
const cell = await openBindCell(recorder.over(store), realEnv(), shape);
const raw = openLmdb(join(dir, 'raw'), 'flush');
let next = 0;

async function round(): Promise<void> {
  recorder.start();
  const load = await bindAll(cell, cell.proposals.slice(next, (next += bindsPerRound)));
  const written = recorder.stop();
  const { transactions, flushes, puts, bytes } = written;
  const rawPerSecond = bindsPerRound / rawSeconds(raw, written);
  const done: BindRound = { ...load, rawPerSecond, transactions, flushes: flushes.length, puts, bytes };
  process.send?.(done);
}

process.on('message', () => void round());
process.once('disconnect', () => {
  void cell.cache
    .close()
    .then(() => store.close())
    .then(() => raw.close());
});
process.send?.('ready');
