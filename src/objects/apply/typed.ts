import { FieldSet } from './field-set.js';
import { fieldElement, type PathElement } from './path-element.js';
import { rootNode, sameJson, shapeOf, valueOf, type Node, type Shape } from './shape.js';

/** Which fields differ between two values. A subtree that came or went is there with every node of it. */
export interface Changes {
  readonly added: FieldSet;
  readonly modified: FieldSet;
  readonly removed: FieldSet;
}

const unchanged: Changes = { added: FieldSet.empty, modified: FieldSet.empty, removed: FieldSet.empty };

function mapShape(shape: Shape, map: (child: Node) => FieldSet): [PathElement, FieldSet][] {
  return shape.kind === 'Leaf' ? [] : [...shape.children].map(([element, child]) => [element, map(child)]);
}

function fieldsOfNode(node: Node): FieldSet {
  const children = mapShape(shapeOf(node), fieldsOfNode);
  return FieldSet.of(children.length === 0 || node.keyNames.length > 0, children);
}

/**
 * The fields a value states: its leaves, empty maps and lists among them, and each item of a keyed list. A map that
 * has fields is not stated itself, so that others may add to it and nobody has to give it up.
 */
export function fieldsOf(value: unknown, schema: unknown): FieldSet {
  return FieldSet.of(false, mapShape(shapeOf(rootNode(value, schema)), fieldsOfNode));
}

function everyField(node: Node): FieldSet {
  return FieldSet.of(true, mapShape(shapeOf(node), everyField));
}

function compareNodes(before: Node, after: Node): Changes {
  const old = shapeOf(before);
  const now = shapeOf(after);
  if (old.kind === 'Leaf' || now.kind === 'Leaf' || old.kind !== now.kind) {
    if (sameJson(before.value, after.value, before.depth)) return unchanged;
    return {
      added: FieldSet.of(false, mapShape(now, everyField)),
      modified: FieldSet.self,
      removed: FieldSet.of(false, mapShape(old, everyField)),
    };
  }
  const added: [PathElement, FieldSet][] = [];
  const modified: [PathElement, FieldSet][] = [];
  const removed: [PathElement, FieldSet][] = [];
  for (const [element, child] of old.children) {
    const match = now.children.get(element);
    if (match === undefined) {
      removed.push([element, everyField(child)]);
      continue;
    }
    const changes = compareNodes(child, match);
    added.push([element, changes.added]);
    modified.push([element, changes.modified]);
    removed.push([element, changes.removed]);
  }
  for (const [element, child] of now.children) {
    if (!old.children.has(element)) added.push([element, everyField(child)]);
  }
  return {
    added: FieldSet.of(false, added),
    modified: FieldSet.of(false, modified),
    removed: FieldSet.of(false, removed),
  };
}

export function compareValues(before: unknown, after: unknown, schema: unknown): Changes {
  return compareNodes(rootNode(before, schema), rootNode(after, schema));
}

const isKey = (node: Node, element: PathElement): boolean =>
  node.keyNames.some((name) => fieldElement(name) === element);

function extractNode(node: Node, wanted: FieldSet): unknown {
  const shape = shapeOf(node);
  if (shape.kind === 'Leaf') return node.value;
  const taken = new Map<PathElement, unknown>();
  for (const [element, child] of shape.children) {
    if (isKey(node, element)) taken.set(element, child.value);
    else if (!wanted.child(element).isEmpty()) taken.set(element, extractNode(child, wanted.child(element)));
  }
  return valueOf(shape.kind, taken);
}

/** The part of a value that a set of fields speaks of. Items of keyed lists keep their keys. */
export function extractFields(value: unknown, wanted: FieldSet, schema: unknown): unknown {
  return extractNode(rootNode(value, schema), wanted);
}

function removeFromNode(node: Node, gone: FieldSet, kept: FieldSet): unknown {
  const shape = shapeOf(node);
  if (shape.kind === 'Leaf') return node.value;
  const left = new Map<PathElement, unknown>();
  for (const [element, child] of shape.children) {
    const goneHere = gone.child(element);
    const keptHere = kept.child(element);
    if (goneHere.isEmpty() || isKey(node, element)) {
      left.set(element, child.value);
    } else if (!goneHere.isMember || !keptHere.isEmpty()) {
      const value = removeFromNode(child, goneHere, keptHere);
      if (value !== undefined) left.set(element, value);
    }
  }
  const isEmptied = left.size === 0 && shape.children.size > 0;
  return isEmptied && !kept.isMember ? undefined : valueOf(shape.kind, left);
}

/**
 * The value without the fields in `gone`; undefined if nothing is left. A field goes with all that is beneath it
 * (an item with what defaults put into it), unless `kept` has something there: then only what `gone` names goes,
 * and an item keeps its keys. A map or list that this empties goes too, unless it is in `kept` itself.
 */
export function removeFields(value: unknown, gone: FieldSet, kept: FieldSet, schema: unknown): unknown {
  return removeFromNode(rootNode(value, schema), gone.difference(kept), kept);
}
