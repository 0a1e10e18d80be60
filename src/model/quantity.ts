import { BerthError } from './errors.js';

/**
 * An amount of a resource, exact, in billionths of its unit (cores, bytes, pieces). A bigint, so that sums of
 * many replicas equal the sum that was charged, to the last digit.
 */
export type Quantity = bigint & { readonly __unit: 'nano' };

const nanoPerUnit = 1_000_000_000n;
/** Amounts stay below this many units, so that every reader can keep one in 64 bits. Beyond it they are refused. */
const unitsMax = 2n ** 63n - 1n;
/** Longer text cannot be an amount within the bound that is written sensibly; it is refused unread. */
const textLengthMax = 64;

const decimalSuffixes = [
  ['n', -9],
  ['u', -6],
  ['m', -3],
  ['', 0],
  ['k', 3],
  ['M', 6],
  ['G', 9],
  ['T', 12],
  ['P', 15],
  ['E', 18],
] as const;
const binarySuffixes = ['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'] as const;
const exponentOf = new Map<string, number>(decimalSuffixes);

export const quantityAllowed =
  'a number, optionally with one of the suffixes n u m k M G T P E Ki Mi Gi Ti Pi Ei or an exponent: 2, 0.5, 500m, 4Gi, 1e3';

const shape = /^([+-]?)(\d*)(?:\.(\d*))?(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?\d{1,3}))?$/;

function refuse(value: unknown, why: string): BerthError {
  return new BerthError('InvalidQuantity', `${JSON.stringify(value)} is not a quantity: ${why}`, {
    details: { value },
  });
}

/** Reads what people write in manifests. Throws InvalidQuantity, which names the value and what is allowed. */
export function parseQuantity(value: string | number): Quantity {
  const text = String(value);
  const match = text.length > textLengthMax ? null : shape.exec(text);
  const [, sign = '', whole = '', fraction = '', suffix = '', exponent = '0'] = match ?? [];
  if (match === null || whole + fraction === '') throw refuse(value, `write ${quantityAllowed}`);

  // The value is digits × 10^tens × 1024^steps nano-units.
  const digits = BigInt(whole + fraction);
  const steps = suffix.endsWith('i') ? binarySuffixes.findIndex((known) => known === suffix) + 1 : 0;
  const tens = 9 - fraction.length + Number(exponent) + (steps > 0 ? 0 : (exponentOf.get(suffix) ?? 0));
  const scaled = digits * 1024n ** BigInt(steps);
  const divisor = tens < 0 ? 10n ** BigInt(-tens) : 1n;
  if (scaled % divisor !== 0n) throw refuse(value, 'nothing finer than a billionth (1n) can be kept');
  const nano = tens < 0 ? scaled / divisor : scaled * 10n ** BigInt(tens);
  if (nano > unitsMax * nanoPerUnit) throw refuse(value, `at most ${unitsMax} is allowed`);
  return (sign === '-' ? -nano : nano) as Quantity;
}

export const zeroQuantity = 0n as Quantity;

export function addQuantities(a: Quantity, b: Quantity): Quantity {
  return (a + b) as Quantity;
}

export function subtractQuantities(a: Quantity, b: Quantity): Quantity {
  return (a - b) as Quantity;
}

/** Negative, zero or positive as `a` is less than, equal to or more than `b`, as sort wants it. */
export function compareQuantities(a: Quantity, b: Quantity): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * The one way Berth writes an amount: no fraction, no exponent, and the largest suffix that allows both.
 * `binary` is for bytes: 4Gi rather than 4294967296. What is no multiple of 1024 is written plainly.
 */
export function formatQuantity(quantity: Quantity, family: 'decimal' | 'binary' = 'decimal'): string {
  if (quantity === 0n) return '0';
  if (family === 'binary' && quantity % (1024n * nanoPerUnit) === 0n) {
    let amount = quantity / nanoPerUnit;
    let steps = 0;
    while (steps < binarySuffixes.length && amount % 1024n === 0n) {
      amount /= 1024n;
      steps += 1;
    }
    return `${amount}${binarySuffixes[steps - 1]}`;
  }
  const fits = decimalSuffixes.findLast(
    ([suffix, exponent]) =>
      (family === 'decimal' || exponent <= 0) &&
      (quantity % 10n ** BigInt(exponent + 9) === 0n || suffix === 'n'),
  );
  const [suffix, exponent] = fits ?? decimalSuffixes[0];
  return `${quantity / 10n ** BigInt(exponent + 9)}${suffix}`;
}
