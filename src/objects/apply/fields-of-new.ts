import type { FieldsV1 } from './field-set.js';
import { compareElements, type PathElement } from './path-element.js';
import { rootNode, shapeOf, type Node } from './shape.js';

const noFields: FieldsV1 = {};

function everyField(node: Node): FieldsV1 {
  // Most values are no objects: nothing is made for them.
  if (typeof node.value !== 'object') return noFields;
  const shape = shapeOf(node);
  if (shape.kind === 'Leaf' || shape.children.size === 0) return noFields;
  const fields: Record<string, FieldsV1> = { '.': {} };
  for (const element of inOrder(shape.children))
    fields[element] = everyField(shape.children.get(element) as Node);
  return fields;
}

function inOrder(children: ReadonlyMap<PathElement, Node>): PathElement[] {
  return [...children.keys()].toSorted(compareElements);
}

/**
 * The fields of an object that was not there before, as FieldsV1: what comparing it with nothing would give, without
 * the sets. Most writes that people wait for are creates, and this walks each of their values once.
 */
export function fieldsOfNew(part: unknown, schema: unknown): FieldsV1 {
  const root = shapeOf(rootNode(part, schema));
  if (root.kind === 'Leaf') return {};
  const fields: Record<string, FieldsV1> = {};
  for (const element of inOrder(root.children)) {
    const beneath = everyField(root.children.get(element) as Node);
    // Every object has metadata, so nobody brings it with it: only what is in it is new.
    if (element === 'f:metadata') {
      const { '.': _, ...inside } = beneath;
      if (Object.keys(inside).length > 0) fields[element] = inside;
    } else fields[element] = beneath;
  }
  return fields;
}
