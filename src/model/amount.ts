import { countedParts } from './counted.js';
import type { Amounts } from './parts/amounts.js';

/**
 * Amounts as the accounts add them up: whole thousandths of a core, whole bytes, whole devices and replicas.
 * What is asked for is rounded up, so a sum of charges is never less than what was asked for; sums are exact.
 * A resource that is not there is zero in a charge and unlimited in a grant.
 */
export interface Amount {
  readonly cpuMilli?: number;
  readonly memoryBytes?: number;
  readonly replicas?: number;
  readonly devices?: Readonly<Record<string, number>>;
}

export const noAmount: Amount = {};

const parsed = new WeakMap<object, Amount>();

/**
 * What the quantities of a manifest come to. The answer is remembered by the identity of the object: one
 * template is parsed once however many replicas are charged with it, so the object must not be changed.
 */
export function amountOf(amounts: Amounts & { readonly replicas?: number }): Amount {
  const known = parsed.get(amounts);
  if (known !== undefined) return known;
  const { cpu, memory, devices, replicas } = amounts;
  const amount: Amount = {
    ...(cpu !== undefined && { cpuMilli: countedParts(cpu, 'cores') }),
    ...(memory !== undefined && { memoryBytes: countedParts(memory, 'bytes') }),
    ...(replicas !== undefined && { replicas }),
    ...(devices !== undefined && { devices }),
  };
  parsed.set(amounts, amount);
  return amount;
}

/** As manifests and tables write it. */
export function amountsOf(amount: Amount): Amounts & { readonly replicas?: number } {
  const { cpuMilli, memoryBytes, devices, replicas } = amount;
  const cpu =
    cpuMilli === undefined ? {} : { cpu: cpuMilli % 1000 === 0 ? String(cpuMilli / 1000) : `${cpuMilli}m` };
  return {
    ...cpu,
    ...(memoryBytes !== undefined && { memory: shownBytes(memoryBytes) }),
    ...(devices !== undefined && { devices }),
    ...(replicas !== undefined && { replicas }),
  };
}

function shownBytes(bytes: number): string {
  for (const [suffix, size] of [
    ['Ti', 2 ** 40] as const,
    ['Gi', 2 ** 30] as const,
    ['Mi', 2 ** 20] as const,
    ['Ki', 2 ** 10] as const,
  ])
    if (bytes > 0 && bytes % size === 0) return `${bytes / size}${suffix}`;
  return String(bytes);
}

/** Names come from manifests: `constructor` must be as absent as any other that nobody named. */
export const ownValue = <T>(values: Readonly<Record<string, T>> | undefined, name: string): T | undefined =>
  values !== undefined && Object.hasOwn(values, name) ? values[name] : undefined;

/** a + sign × b. Zero stays where a resource was once named, so that records keep their shape. */
function combine(a: Amount, b: Amount, sign: 1 | -1): Amount {
  // Nearly all accounts name these three: written out, because every bind makes several.
  if (a.devices === undefined && b.devices === undefined) {
    const cpuMilli = b.cpuMilli ? (a.cpuMilli ?? 0) + sign * b.cpuMilli : a.cpuMilli;
    const memoryBytes = b.memoryBytes ? (a.memoryBytes ?? 0) + sign * b.memoryBytes : a.memoryBytes;
    const replicas = b.replicas ? (a.replicas ?? 0) + sign * b.replicas : a.replicas;
    if (cpuMilli !== undefined && memoryBytes !== undefined && replicas !== undefined)
      return { cpuMilli, memoryBytes, replicas };
  }
  const sum: { -readonly [K in keyof Amount]: Amount[K] } = { ...a };
  if (b.cpuMilli) sum.cpuMilli = (a.cpuMilli ?? 0) + sign * b.cpuMilli;
  if (b.memoryBytes) sum.memoryBytes = (a.memoryBytes ?? 0) + sign * b.memoryBytes;
  if (b.replicas) sum.replicas = (a.replicas ?? 0) + sign * b.replicas;
  if (b.devices !== undefined) {
    const devices: Record<string, number> = { ...a.devices };
    for (const [name, count] of Object.entries(b.devices))
      devices[name] = (ownValue(devices, name) ?? 0) + sign * count;
    sum.devices = devices;
  }
  return sum;
}

export const addAmounts = (a: Amount, b: Amount): Amount => combine(a, b, 1);
export const subtractAmounts = (a: Amount, b: Amount): Amount => combine(a, b, -1);

/** Every resource of an amount with its count, devices as `device/NAME`. */
export function* eachResource(amount: Amount): Generator<readonly [name: string, count: number]> {
  if (amount.cpuMilli !== undefined) yield ['cpu', amount.cpuMilli];
  if (amount.memoryBytes !== undefined) yield ['memory', amount.memoryBytes];
  if (amount.replicas !== undefined) yield ['replicas', amount.replicas];
  for (const [name, count] of Object.entries(amount.devices ?? {})) yield [`device/${name}`, count];
}

export function countOf(amount: Amount, resource: string): number | undefined {
  switch (resource) {
    case 'cpu':
      return amount.cpuMilli;
    case 'memory':
      return amount.memoryBytes;
    case 'replicas':
      return amount.replicas;
    default:
      return ownValue(amount.devices, resource.slice('device/'.length));
  }
}

/**
 * The first resource of which `used` and `more` together are above what is there; undefined if all fit. Only
 * resources that `more` asks for count: what is over already (its offer shrank) does not stop what needs none of it.
 */
export function firstOver(
  used: Amount,
  more: Amount,
  most: Amount,
  absent: 'isNone' | 'isUnlimited',
): string | undefined {
  const whereAbsent = absent === 'isNone' ? 0 : Number.POSITIVE_INFINITY;
  const isOver = (usedCount = 0, count = 0, limit = whereAbsent): boolean =>
    count !== 0 && usedCount + count > limit;
  // Written out, because each bind asks this three times.
  if (isOver(used.cpuMilli, more.cpuMilli, most.cpuMilli)) return 'cpu';
  if (isOver(used.memoryBytes, more.memoryBytes, most.memoryBytes)) return 'memory';
  if (isOver(used.replicas, more.replicas, most.replicas)) return 'replicas';
  if (more.devices === undefined) return undefined;
  for (const [name, count] of Object.entries(more.devices))
    if (isOver(ownValue(used.devices, name), count, ownValue(most.devices, name))) return `device/${name}`;
  return undefined;
}

/** Whether two amounts are the same, zero and not named being the same. */
export function sameAmount(a: Amount, b: Amount): boolean {
  for (const [resource, count] of eachResource(a)) if ((countOf(b, resource) ?? 0) !== count) return false;
  for (const [resource, count] of eachResource(b)) if ((countOf(a, resource) ?? 0) !== count) return false;
  return true;
}
