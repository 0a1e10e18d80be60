import { assertDepth, type FieldsV1 } from './field-set.js';
import { compareElements, fieldElement, type PathElement } from './path-element.js';
import { factsOf, isRecord } from './schema-facts.js';
import { type Node, rootNode, shapeOf } from './shape.js';

const noFields: FieldsV1 = {};

/**
 * The fields of an object that was not there before, as FieldsV1: what comparing it with nothing would give, without
 * the sets. Most writes that people wait for are creates, and this walks each of their values once.
 */
export function fieldsOfNew(part: unknown, schema: unknown): FieldsV1 {
  if (!isRecord(part)) return noFields;
  const fields: Record<string, FieldsV1> = {};
  for (const name of namesOf(part)) {
    const beneath = everyField(part[name], factsOf(schema).field(name), 1);
    if (name !== 'metadata') fields[fieldElement(name)] = beneath;
    else {
      // Every object has metadata, so nobody brings it with it: only what is in it is new.
      const { '.': _, ...inside } = beneath;
      if (Object.keys(inside).length > 0) fields['f:metadata'] = inside;
    }
  }
  return fields;
}

function everyField(value: unknown, schema: unknown, depth: number): FieldsV1 {
  // Most values are no objects: nothing is made for them.
  if (typeof value !== 'object' || value === null) return noFields;
  if (!isRecord(value)) return fieldsOfList({ ...rootNode(value, schema), depth });
  assertDepth(depth);
  const facts = factsOf(schema);
  const names = facts.isAtomicMap ? [] : namesOf(value);
  if (names.length === 0) return noFields;
  const fields: Record<string, FieldsV1> = { '.': noFields };
  for (const name of names)
    fields[fieldElement(name)] = everyField(value[name], facts.field(name), depth + 1);
  return fields;
}

function fieldsOfList(list: Node): FieldsV1 {
  const shape = shapeOf(list);
  if (shape.kind === 'Leaf' || shape.children.size === 0) return noFields;
  const fields: Record<string, FieldsV1> = { '.': noFields };
  for (const element of inOrder(shape.children)) {
    const { value, schema, depth } = shape.children.get(element) as Node;
    fields[element] = everyField(value, schema, depth);
  }
  return fields;
}

const inOrder = (children: ReadonlyMap<PathElement, Node>): PathElement[] =>
  [...children.keys()].toSorted(compareElements);

/** The names of fields, in the order of their elements. */
const namesOf = (record: Readonly<Record<string, unknown>>): string[] =>
  Object.keys(record)
    .filter((name) => record[name] !== undefined)
    .toSorted();
