import { assertDepth } from './field-set.js';
import {
  fieldElement,
  isScalar,
  itemElement,
  valueElement,
  type PathElement,
  type Scalar,
} from './path-element.js';
import { factsOf, isRecord, type ItemKey, own, type SchemaFacts } from './schema-facts.js';

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

export const rootNode = (value: unknown, schema: unknown): Node => ({
  value,
  schema,
  depth: 0,
  keyNames: noKeys,
});

function shapeOfMap(node: Node, facts: SchemaFacts, record: Readonly<Record<string, unknown>>): Shape {
  if (facts.isAtomicMap) return leaf;
  const children = new Map<PathElement, Node>();
  for (const name of Object.keys(record)) {
    const value = record[name];
    if (value === undefined) continue;
    children.set(fieldElement(name), {
      value,
      schema: facts.field(name),
      depth: node.depth + 1,
      keyNames: noKeys,
    });
  }
  return { kind: 'Map', children };
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

function shapeOfItems(node: Node, facts: SchemaFacts, list: readonly unknown[]): Shape {
  const { items: schema, itemKeys: keys } = facts;
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
  const facts = factsOf(node.schema);
  if (!Array.isArray(value)) return isRecord(value) ? shapeOfMap(node, facts, value) : leaf;
  if (facts.listType === 'map') return shapeOfItems(node, facts, value);
  return facts.listType === 'set' ? shapeOfValues(node, value) : leaf;
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
