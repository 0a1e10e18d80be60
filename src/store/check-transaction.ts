import { BerthError } from '../model/errors.js';
import {
  framingBytesPerKey,
  guardsMax,
  type Transaction,
  transactionBytesMax,
  writesMax,
} from './contract.js';
import { checkKey } from './key-range.js';

/** Refuses what no backend may accept, before anything is sent: every store calls it first. Returns its size in bytes. */
export function checkTransaction(transaction: Transaction): number {
  const { guards, writes } = transaction;
  if (guards.length > guardsMax) refuse(`${guards.length} guards, at most ${guardsMax} are allowed`);
  if (writes.length > writesMax) refuse(`${writes.length} writes, at most ${writesMax} are allowed`);
  let bytes = 0;
  for (const guard of guards) {
    checkKey(guard.key);
    if (guard.kind === 'unchanged' && !(Number.isSafeInteger(guard.modRevision) && guard.modRevision > 0)) {
      refuse(`guard on ${guard.key}: modRevision ${guard.modRevision}, a whole number from 1 is allowed`);
    }
    bytes +=
      2 * (guard.key.length + framingBytesPerKey) + (guard.kind === 'value' ? guard.value.byteLength : 0);
  }
  const written = new Set<string>();
  let nextGuard = 0;
  for (const write of writes) {
    // Most keys that are written are guarded too, in the same order: those have been checked.
    while (nextGuard < guards.length && guards[nextGuard]?.key !== write.key) nextGuard += 1;
    if (nextGuard === guards.length) checkKey(write.key);
    if (write.kind === 'put' && !(write.value instanceof Uint8Array))
      refuse(`the value of ${write.key} is not bytes`);
    if (written.has(write.key)) refuse(`key ${write.key} is written twice, once is allowed`);
    written.add(write.key);
    bytes += write.key.length + framingBytesPerKey + (write.kind === 'put' ? write.value.byteLength : 0);
  }
  if (bytes > transactionBytesMax) {
    refuse(`it takes ${bytes} bytes, at most ${transactionBytesMax} are allowed`);
  }
  return bytes;
}

function refuse(why: string): never {
  throw new BerthError('InvalidTransaction', `transaction refused: ${why}`);
}
