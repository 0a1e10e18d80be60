import { BerthError } from '../../model/errors.js';
import type { Json } from '../../model/object.js';
import { compareElements, parseElement, type Path, type PathElement } from './path-element.js';

/**
 * How many steps of a path are followed, in values and in field sets. Past it the whole operation is refused with
 * TooDeep; no kind nests a tenth of this.
 */
export const pathDepthMax = 100;

export function assertDepth(depth: number): void {
  if (depth > pathDepthMax) {
    throw new BerthError('TooDeep', `fields nested deeper than ${pathDepthMax} levels are not followed`);
  }
}

/** FieldsV1: every key a path element or '.', every value again such a tree. */
export interface FieldsV1 {
  readonly [element: string]: FieldsV1;
}

/** What is wrong in such a tree was written by a client; it is left out rather than believed. */
function readChildren(json: object, depth: number): [PathElement, FieldSet][] {
  assertDepth(depth);
  const children: [PathElement, FieldSet][] = [];
  for (const [key, child] of Object.entries(json) as [string, unknown][]) {
    const element = parseElement(key);
    if (element === undefined || typeof child !== 'object' || child === null || Array.isArray(child))
      continue;
    const isMember = Object.hasOwn(child, '.') || Object.keys(child).length === 0;
    children.push([element, FieldSet.of(isMember, readChildren(child, depth + 1))]);
  }
  return children;
}

/**
 * An immutable set of field paths, as a tree. A path is in the set when the node it leads to is a member; that says
 * nothing about the fields beneath it.
 *
 * Invariant: no child is empty, so a set is empty exactly when it is no member and has no children.
 */
export class FieldSet {
  static readonly empty: FieldSet = new FieldSet(false, new Map());
  static readonly self: FieldSet = new FieldSet(true, new Map());

  private constructor(
    readonly isMember: boolean,
    private readonly children: ReadonlyMap<PathElement, FieldSet>,
  ) {}

  static of(isMember: boolean, children: Iterable<readonly [PathElement, FieldSet]>): FieldSet {
    const kept = new Map<PathElement, FieldSet>();
    for (const [element, child] of children) if (!child.isEmpty()) kept.set(element, child);
    if (kept.size === 0) return isMember ? FieldSet.self : FieldSet.empty;
    return new FieldSet(isMember, kept);
  }

  static ofPaths(...paths: readonly Path[]): FieldSet {
    return paths.reduce(
      (set, path) =>
        set.union(path.reduceRight((rest, element) => FieldSet.of(false, [[element, rest]]), FieldSet.self)),
      FieldSet.empty,
    );
  }

  static fromFieldsV1(json: Json | undefined): FieldSet {
    if (typeof json !== 'object' || json === null || Array.isArray(json)) return FieldSet.empty;
    return FieldSet.of(false, readChildren(json, 1));
  }

  toFieldsV1(): FieldsV1 {
    const sorted = [...this.children].toSorted(([a], [b]) => compareElements(a, b));
    return Object.fromEntries(
      sorted.map(([element, child]) => {
        const beneath = child.toFieldsV1();
        return [element, child.isMember && child.children.size > 0 ? { '.': {}, ...beneath } : beneath];
      }),
    );
  }

  isEmpty(): boolean {
    return !this.isMember && this.children.size === 0;
  }

  child(element: PathElement): FieldSet {
    return this.children.get(element) ?? FieldSet.empty;
  }

  has(path: Path): boolean {
    return path.reduce<FieldSet>((set, element) => set.child(element), this).isMember;
  }

  equals(other: FieldSet): boolean {
    if (this === other) return true;
    if (this.isMember !== other.isMember || this.children.size !== other.children.size) return false;
    for (const [element, child] of this.children) if (!child.equals(other.child(element))) return false;
    return true;
  }

  union(other: FieldSet): FieldSet {
    if (other.isEmpty() || this === other) return this;
    if (this.isEmpty()) return other;
    const children = new Map(this.children);
    for (const [element, child] of other.children) children.set(element, this.child(element).union(child));
    return FieldSet.of(this.isMember || other.isMember, children);
  }

  difference(other: FieldSet): FieldSet {
    return this.mapChildren(this.isMember && !other.isMember, (child, element) =>
      child.difference(other.child(element)),
    );
  }

  intersection(other: FieldSet): FieldSet {
    return this.mapChildren(this.isMember && other.isMember, (child, element) =>
      child.intersection(other.child(element)),
    );
  }

  /** The paths of this set that are in `cover` or lie beneath a path that is. */
  within(cover: FieldSet): FieldSet {
    if (cover.isMember) return this;
    return this.mapChildren(false, (child, element) => child.within(cover.child(element)));
  }

  /** The paths of this set that are neither in `cover` nor beneath one that is. */
  outside(cover: FieldSet): FieldSet {
    if (cover.isMember) return FieldSet.empty;
    return this.mapChildren(this.isMember, (child, element) => child.outside(cover.child(element)));
  }

  /** The longest paths of the set, in the order of FieldsV1. */
  leaves(): readonly Path[] {
    const sorted = [...this.children].toSorted(([a], [b]) => compareElements(a, b));
    return sorted.flatMap(([element, child]) =>
      child.children.size === 0 ? [[element]] : child.leaves().map((rest) => [element, ...rest]),
    );
  }

  private mapChildren(isMember: boolean, map: (child: FieldSet, element: PathElement) => FieldSet): FieldSet {
    return FieldSet.of(
      isMember,
      [...this.children].map(([element, child]) => [element, map(child, element)] as const),
    );
  }
}
