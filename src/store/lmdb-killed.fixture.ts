import { say } from '../../testing/run-process.js';
import { realEnv } from '../env/real.js';
import { asRevision } from './contract.js';
import { keysUnder } from './key-range.js';
import { LmdbStore } from './lmdb.js';

// Writers that go on from whatever is there until they are killed. Each transaction writes one number to
// three keys; compaction runs beside them.
const [dir = ''] = process.argv.slice(2);
const store = await LmdbStore.open({ dir, env: realEnv() });
const writer = async (name: string): Promise<void> => {
  const { entries } = await store.read(keysUnder(`/${name}/`));
  let number = Number(Buffer.from(entries[0]?.value ?? Buffer.from('0')).toString());
  for (;;) {
    number += 1;
    const value = Buffer.from(String(number));
    const outcome = await store.transact({
      guards: [],
      writes: ['a', 'b', 'c'].map((part) => ({ kind: 'put', key: `/${name}/${part}`, value })),
    });
    if (outcome.kind !== 'Committed') throw new Error(outcome.kind);
    say(`${name} ${number} ${outcome.revision}`);
    if (name === 'w0' && number % 100 === 0) await store.compact(asRevision(outcome.revision - 20));
  }
};
await Promise.all(Array.from({ length: 8 }, (_, index) => writer(`w${index}`)));
