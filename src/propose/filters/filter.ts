import type { NodeAgeMs } from '../contract.js';
import type { NodeDomain, NodeShape, NodeTable } from '../node-table.js';
import type { ParkReason } from '../queue/cures.js';
import type { SchedulingClass } from '../scheduling-class.js';
import type { Surroundings } from '../surroundings.js';

/** What filters and scores look at: one class, all nodes, what is around. */
export interface View {
  readonly cls: SchedulingClass;
  readonly nodes: NodeTable;
  readonly around: Surroundings;
  readonly ages: NodeAgeMs;
}

/**
 * A hard rule, by how much of a node it depends on: the less, the fewer times it is asked. All are pure, name one
 * reason, and say what is wrong only when somebody asks.
 */
export type Filter = ShapeFilter | NodeFilter | DomainFilter;

interface Named {
  readonly name: string;
  readonly reason: ParkReason;
}

/** On what operator and agent say of a node: asked once for all nodes that say the same. */
export interface ShapeFilter extends Named {
  readonly level: 'shape';
  readonly rejects: (cls: SchedulingClass, shape: NodeShape) => boolean;
  /** What the node is or has, as in "node n1 is in region us-east". */
  readonly says: (cls: SchedulingClass, shape: NodeShape) => string;
}

/** On the node's own account: asked for every node, and again when something was placed there. */
export interface NodeFilter extends Named {
  readonly level: 'node';
  /** Whether this class can be rejected by it at all. */
  readonly applies: (cls: SchedulingClass) => boolean;
  readonly rejects: (view: View, row: number) => boolean;
  readonly says: (view: View, row: number) => string;
}

/** On how many are in the zone and region: asked for every zone, and again after each placement. */
export interface DomainFilter extends Named {
  readonly level: 'domain';
  readonly applies: (cls: SchedulingClass) => boolean;
  readonly rejects: (view: View, where: NodeDomain) => boolean;
  readonly says: (view: View, where: NodeDomain) => string;
}
