/**
 * One step of a field path, in the text form that FieldsV1 uses as a JSON key: a field of an object, an item of
 * a keyed list, or a value of a set. The text is canonical, so equal steps are equal strings.
 */
export type PathElement = `f:${string}` | `k:${string}` | `v:${string}`;
export type Path = readonly PathElement[];

export type Scalar = string | number | boolean | null;

export const isScalar = (value: unknown): value is Scalar =>
  value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';

const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

export const fieldElement = (name: string): PathElement => `f:${name}`;

export const valueElement = (value: Scalar): PathElement => `v:${JSON.stringify(value)}`;

export function itemElement(keys: readonly (readonly [name: string, value: Scalar])[]): PathElement {
  const sorted = keys.toSorted(([a], [b]) => order(a, b));
  // Written by hand: an object would move names that look like numbers to the front.
  return `k:{${sorted.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',')}}`;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function parseItemKeys(text: string): [string, Scalar][] | undefined {
  const keys = parseJson(text);
  if (typeof keys !== 'object' || keys === null || Array.isArray(keys)) return undefined;
  const pairs: [string, Scalar][] = [];
  for (const [name, value] of Object.entries(keys)) {
    if (!isScalar(value)) return undefined;
    pairs.push([name, value]);
  }
  return pairs.length === 0 ? undefined : pairs;
}

/** Undefined for a step that is malformed or of a kind that Berth's lists do not have (i: is one). */
export function parseElement(text: string): PathElement | undefined {
  const rest = text.slice(2);
  switch (text.slice(0, 2)) {
    case 'f:':
      return fieldElement(rest);
    case 'k:': {
      const keys = parseItemKeys(rest);
      return keys === undefined ? undefined : itemElement(keys);
    }
    case 'v:': {
      const value = parseJson(rest);
      return isScalar(value) ? valueElement(value) : undefined;
    }
    default:
      return undefined;
  }
}

function orderScalars(a: unknown, b: unknown): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  if (typeof a === 'string' && typeof b === 'string') return order(a, b);
  return order(JSON.stringify(a), JSON.stringify(b));
}

/** The order in which FieldsV1 lists steps: fields by name, then items by their keys, then values. */
export function compareElements(a: PathElement, b: PathElement): number {
  if (a.startsWith('f:') && b.startsWith('f:')) return order(a, b);
  const kinds = order(a.slice(0, 2), b.slice(0, 2));
  if (kinds !== 0) return kinds;
  if (a.startsWith('v:')) return orderScalars(parseJson(a.slice(2)), parseJson(b.slice(2)));
  const left = parseItemKeys(a.slice(2)) ?? [];
  const right = parseItemKeys(b.slice(2)) ?? [];
  for (const [index, [name, value]] of left.entries()) {
    const other = right[index];
    if (other === undefined) return 1;
    const difference = order(name, other[0]) || orderScalars(value, other[1]);
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

/** A path as people read it in a conflict: .spec.template.run.env[name="MODEL"].value */
export function formatPath(path: Path): string {
  return path
    .map((element) => {
      const rest = element.slice(2);
      if (element.startsWith('f:')) return `.${rest}`;
      if (element.startsWith('v:')) return `[=${rest}]`;
      const keys = parseItemKeys(rest) ?? [];
      return `[${keys.map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(',')}]`;
    })
    .join('');
}
