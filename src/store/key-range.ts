import { BerthError } from '../model/errors.js';
import { keyBytesMax, type KeyRange } from './contract.js';

/** Exactly one key. */
export const singleKey = (key: string): KeyRange => ({ from: key, to: `${key}\0` });

/** Every key that starts with `prefix`. */
export function keysUnder(prefix: string): KeyRange {
  if (prefix === '') return everyKey;
  const last = prefix.length - 1;
  return { from: prefix, to: prefix.slice(0, last) + String.fromCharCode(prefix.charCodeAt(last) + 1) };
}

/** Every key there can be: keys hold printable ASCII only. */
export const everyKey: KeyRange = { from: '!', to: '\x7f' };

export const isInRange = (range: KeyRange, key: string): boolean => key >= range.from && key < range.to;

// Printable ASCII without the space: string order, UTF-8 byte order and etcd's order are then the same.
const keyPattern = /^[\x21-\x7e]+$/;

export function checkKey(key: string): void {
  if (key.length > keyBytesMax || !keyPattern.test(key)) {
    const shown = JSON.stringify(key.length > 80 ? `${key.slice(0, 80)}…` : key);
    throw new BerthError(
      'InvalidKey',
      `key ${shown}: allowed are 1 to ${keyBytesMax} characters of printable ASCII without spaces`,
    );
  }
}
