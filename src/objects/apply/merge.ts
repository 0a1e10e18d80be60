import type { PathElement } from './path-element.js';
import { rootNode, shapeOf, valueOf, type Node } from './shape.js';

function mergeNodes(live: Node, applied: Node): unknown {
  const liveShape = shapeOf(live);
  const appliedShape = shapeOf(applied);
  if (liveShape.kind === 'Leaf' || appliedShape.kind === 'Leaf' || liveShape.kind !== appliedShape.kind) {
    return applied.value;
  }
  // A map keeps the place of an entry that is set again: live order first, what is new after it.
  const merged = new Map<PathElement, unknown>();
  for (const [element, child] of liveShape.children) merged.set(element, child.value);
  for (const [element, child] of appliedShape.children) {
    const match = liveShape.children.get(element);
    merged.set(element, match === undefined ? child.value : mergeNodes(match, child));
  }
  return valueOf(liveShape.kind, merged);
}

/**
 * The live value with everything an applied configuration states: maps field by field, keyed lists item by item,
 * sets as a union, all else replaced. Nothing is removed here. An item that names a key the schema could fill in
 * counts as the item with that key.
 */
export function mergeApplied(live: unknown, applied: unknown, schema: unknown): unknown {
  return mergeNodes(rootNode(live, schema), rootNode(applied, schema));
}
