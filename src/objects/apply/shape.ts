import { assertDepth } from './field-set.js';
import {
  fieldElement,
  isScalar,
  itemElement,
  valueElement,
  type PathElement,
  type Scalar,
} from './path-element.js';

/** A value with the schema that speaks about it, at a place in an object. Without a schema its form is deduced. */
export interface Node {
  readonly value: unknown;
  readonly schema: unknown;
  readonly depth: number;
  /** The fields that tell an item of a keyed list from the others; empty everywhere else. */
  readonly keyNames: readonly string[];
}

/**
 * What fields a value is made of. Maps and keyed or set lists have children that can be owned one by one; all else
 * is a leaf: owned, compared and replaced as a whole. A value that its schema does not expect is a leaf too, so that
 * nothing here fails on it; admission refuses it with its path.
 */
export type Shape =
  | { readonly kind: 'Leaf' }
  | {
      readonly kind: 'Map' | 'ItemList' | 'ValueList';
      readonly children: ReadonlyMap<PathElement, Node>;
    };

const leaf: Shape = { kind: 'Leaf' };
const noKeys: readonly string[] = [];
/** How deep unions and intersections of schemas are looked into; beneath it the form is deduced. */
const alternativesDepthMax = 4;

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

// A plain read of 'constructor' would find what every object inherits.
export const own = (value: unknown, name: string): unknown =>
  isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;

function branchesOf(schema: Readonly<Record<string, unknown>>, depth: number): unknown[] {
  const branches: unknown[] = [];
  for (const name of ['allOf', 'anyOf', 'oneOf']) {
    const list = own(schema, name);
    if (!Array.isArray(list)) continue;
    for (const branch of list) branches.push(...findAlternatives(branch, depth + 1));
  }
  return branches;
}

function findAlternatives(schema: unknown, depth: number): readonly unknown[] {
  return isRecord(schema) && depth <= alternativesDepthMax ? [schema, ...branchesOf(schema, depth)] : [];
}

// Schemas never change, and every node of every write asks for these.
const knownAlternatives = new WeakMap<object, readonly unknown[]>();
const none: readonly unknown[] = [];

/** A schema and the ones it is made of, the outer before the inner. */
function alternatives(schema: unknown): readonly unknown[] {
  if (!isRecord(schema)) return none;
  let found = knownAlternatives.get(schema);
  if (found === undefined) {
    found = findAlternatives(schema, 0);
    knownAlternatives.set(schema, found);
  }
  return found;
}

function facet(schemas: readonly unknown[], name: string): unknown {
  for (const schema of schemas) {
    const found = own(schema, name);
    if (found !== undefined) return found;
  }
  return undefined;
}

function schemaOfField(schemas: readonly unknown[], name: string): unknown {
  for (const schema of schemas) {
    const found = own(own(schema, 'properties'), name);
    if (found !== undefined) return found;
  }
  for (const schema of schemas) {
    const additional = own(schema, 'additionalProperties');
    if (isRecord(additional)) return additional;
    // How TypeBox writes a map with string keys. With several patterns the form is deduced.
    const patterns = own(schema, 'patternProperties');
    const patterned = isRecord(patterns) ? Object.values(patterns) : [];
    if (patterned.length === 1) return patterned[0];
  }
  return undefined;
}

export const rootNode = (value: unknown, schema: unknown): Node => ({
  value,
  schema,
  depth: 0,
  keyNames: noKeys,
});

function shapeOfMap(
  node: Node,
  schemas: readonly unknown[],
  record: Readonly<Record<string, unknown>>,
): Shape {
  if (facet(schemas, 'x-kubernetes-map-type') === 'atomic') return leaf;
  const children = new Map<PathElement, Node>();
  for (const name of Object.keys(record)) {
    const value = record[name];
    if (value === undefined) continue;
    children.set(fieldElement(name), {
      value,
      schema: schemaOfField(schemas, name),
      depth: node.depth + 1,
      keyNames: noKeys,
    });
  }
  return { kind: 'Map', children };
}

interface ItemKey {
  readonly name: string;
  readonly default: unknown;
}

function itemKeys(schemas: readonly unknown[], itemSchema: unknown): readonly ItemKey[] {
  const names = facet(schemas, 'x-kubernetes-list-map-keys');
  if (!Array.isArray(names)) return [];
  const itemSchemas = alternatives(itemSchema);
  return names
    .filter((name) => typeof name === 'string')
    .map((name) => ({ name, default: facet(alternatives(schemaOfField(itemSchemas, name)), 'default') }));
}

/** Undefined unless the item has at least one of its keys; a key left out has its default, or is no part of it. */
function elementOfItem(item: unknown, itemKeysOfList: readonly ItemKey[]): PathElement | undefined {
  const keys: [string, Scalar][] = [];
  let isGiven = false;
  for (const key of itemKeysOfList) {
    const given = own(item, key.name) ?? undefined;
    const value = given ?? key.default;
    if (value === undefined) continue;
    if (!isScalar(value)) return undefined;
    isGiven ||= given !== undefined;
    keys.push([key.name, value]);
  }
  return isGiven ? itemElement(keys) : undefined;
}

function shapeOfItems(node: Node, schemas: readonly unknown[], list: readonly unknown[]): Shape {
  const schema = facet(schemas, 'items');
  const keys = itemKeys(schemas, schema);
  const keyNames = keys.map(({ name }) => name);
  const children = new Map<PathElement, Node>();
  for (const value of list) {
    const element = elementOfItem(value, keys);
    if (element === undefined || children.has(element)) return leaf;
    children.set(element, { value, schema, depth: node.depth + 1, keyNames });
  }
  return { kind: 'ItemList', children };
}

function shapeOfValues(node: Node, list: readonly unknown[]): Shape {
  const children = new Map<PathElement, Node>();
  for (const value of list) {
    const element = isScalar(value) ? valueElement(value) : undefined;
    if (element === undefined || children.has(element)) return leaf;
    children.set(element, { value, schema: undefined, depth: node.depth + 1, keyNames: noKeys });
  }
  return { kind: 'ValueList', children };
}

export function shapeOf(node: Node): Shape {
  assertDepth(node.depth);
  const { value } = node;
  if (typeof value !== 'object' || value === null) return leaf;
  const schemas = alternatives(node.schema);
  if (!Array.isArray(value)) return isRecord(value) ? shapeOfMap(node, schemas, value) : leaf;
  const type = facet(schemas, 'x-kubernetes-list-type');
  if (type === 'map') return shapeOfItems(node, schemas, value);
  return type === 'set' ? shapeOfValues(node, value) : leaf;
}

/** The value that has these children, in their order. A name such as __proto__ becomes an ordinary field. */
export function valueOf(
  kind: 'Map' | 'ItemList' | 'ValueList',
  children: ReadonlyMap<PathElement, unknown>,
): unknown {
  if (kind !== 'Map') return [...children.values()];
  return Object.fromEntries([...children].map(([element, value]) => [element.slice(2), value]));
}

/** Refuses what is nested too deep, inside leaves too: it would be met when they are compared. */
export function assertNesting(value: unknown, depth = 0): void {
  if (typeof value !== 'object' || value === null) return;
  assertDepth(depth);
  for (const child of Object.values(value)) assertNesting(child, depth + 1);
}

/** Whether two JSON values say the same; the order of an object's fields says nothing. */
export function sameJson(a: unknown, b: unknown, depth: number): boolean {
  assertDepth(depth);
  if (a === b) return true;
  if (Array.isArray(a)) {
    return (
      Array.isArray(b) &&
      a.length === b.length &&
      a.every((item, index) => sameJson(item, b[index], depth + 1))
    );
  }
  if (!isRecord(a) || !isRecord(b)) return false;
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && sameJson(a[name], b[name], depth + 1))
  );
}
