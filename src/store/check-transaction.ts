import { BerthError } from '../model/errors.js';
import { guardsMax, type Transaction, transactionBytesMax, writesMax } from './contract.js';
import { checkKey } from './key-range.js';

/** Refuses what no backend may accept, before anything is sent: every store calls it first. */
export function checkTransaction(transaction: Transaction): void {
  const { guards, writes } = transaction;
  if (guards.length > guardsMax) refuse(`${guards.length} guards, at most ${guardsMax} are allowed`);
  if (writes.length > writesMax) refuse(`${writes.length} writes, at most ${writesMax} are allowed`);
  let bytes = 0;
  for (const guard of guards) {
    checkKey(guard.key);
    bytes += guard.key.length + (guard.kind === 'value' ? guard.value.byteLength : 0);
  }
  const written = new Set<string>();
  for (const write of writes) {
    checkKey(write.key);
    if (written.has(write.key)) refuse(`key ${write.key} is written twice, once is allowed`);
    written.add(write.key);
    bytes += write.key.length + (write.kind === 'put' ? write.value.byteLength : 0);
  }
  if (bytes > transactionBytesMax) {
    refuse(`keys and values take ${bytes} bytes, at most ${transactionBytesMax} are allowed`);
  }
}

function refuse(why: string): never {
  throw new BerthError('InvalidTransaction', `transaction refused: ${why}`);
}
