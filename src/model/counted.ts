import type { SchemaValidateFunction } from 'ajv';
import { isBerthError } from './errors.js';
import { parseQuantity, type Quantity, quantityAllowed } from './quantity.js';

/** What a quantity is a quantity of. Accounts count whole thousandths of a core and whole bytes. */
export type CountedUnit = 'cores' | 'bytes';

const nanoPerPart: Readonly<Record<CountedUnit, bigint>> = { cores: 1_000_000n, bytes: 1_000_000_000n };
// Past this, sums of what is counted would no longer be exact.
const partsMax = BigInt(Number.MAX_SAFE_INTEGER);
const most: Readonly<Record<CountedUnit, string>> = {
  cores: `${partsMax / 1_000n} cores`,
  bytes: `${partsMax} bytes, which is just below 8Pi`,
};

const wholeParts = (quantity: Quantity, unit: CountedUnit): bigint =>
  (quantity + nanoPerPart[unit] - 1n) / nanoPerPart[unit];

/**
 * How the accounts count a quantity, rounded up. Admission refuses what is too large to be counted; what was stored
 * before it did counts as the most there is: a number, also once it was on disk, that is read as it was written.
 */
export function countedParts(value: string | number, unit: CountedUnit): number {
  const parts = wholeParts(parseQuantity(value), unit);
  return Number(parts > partsMax ? partsMax : parts);
}

export const countedAllowed = `${quantityAllowed}; not negative`;

/** What is wrong with a quantity that is to be counted; undefined if nothing is. */
export function countedError(value: string | number, unit: CountedUnit): string | undefined {
  try {
    const quantity = parseQuantity(value);
    if (quantity < 0n) return `must be ${countedAllowed}`;
    return wholeParts(quantity, unit) > partsMax
      ? `must be at most ${most[unit]}: more cannot be counted exactly`
      : undefined;
  } catch (error) {
    if (isBerthError(error, 'InvalidQuantity')) return `must be ${countedAllowed}`;
    throw error;
  }
}

/** The keyword x-berth-counted for ajv. A format would do for texts alone, and quantities come as numbers, too. */
export const countedErrors: SchemaValidateFunction = (unit: CountedUnit, value: string | number) => {
  const message = countedError(value, unit);
  countedErrors.errors = message === undefined ? [] : [{ keyword: 'x-berth-counted', params: {}, message }];
  return message === undefined;
};
