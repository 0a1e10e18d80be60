import { say } from '../../testing/run-process.js';
import { realEnv } from '../env/real.js';
import { LmdbStore } from './lmdb.js';

// 64 writers that announce each acknowledgement with a system call of its own, for strace to see.
const [dir = '', sync = 'flush', rounds = '5'] = process.argv.slice(2);
const store = await LmdbStore.open({ dir, env: realEnv(), sync: sync === 'none' ? 'none' : 'flush' });
const writer = async (number: number): Promise<void> => {
  for (let round = 0; round < Number(rounds); round++) {
    const marker = `<txn-${number}-${round}>`;
    const outcome = await store.transact({
      guards: [],
      writes: [{ kind: 'put', key: `/k/${number}`, value: Buffer.from(marker) }],
    });
    say(`ack ${marker} ${outcome.kind}`);
  }
};
await Promise.all(Array.from({ length: 64 }, (_, number) => writer(number)));
await store.close();
