import type { Policy, ScoreName } from '../../model/policy.js';
import type { View } from '../filters/filter.js';
import type { NodeDomain, NodeShape } from '../node-table.js';
import type { SchedulingClass } from '../scheduling-class.js';

/**
 * A preference, in [0, 1], more being better. Absolute: it depends on the class and the one node (or its zone), never
 * on other nodes, so that a decision can be run again with few of them. By how much of a node it depends on, as filters.
 */
export type Score = ShapeScore | NodeScore | DomainScore;

interface Named {
  readonly name: ScoreName;
  /** Whether it can tell nodes apart for this class at all. */
  readonly applies: (view: View) => boolean;
}

export interface ShapeScore extends Named {
  readonly level: 'shape';
  readonly score: (cls: SchedulingClass, shape: NodeShape) => number;
}

export interface NodeScore extends Named {
  readonly level: 'node';
  readonly score: (view: View, row: number, policy: Policy) => number;
}

export interface DomainScore extends Named {
  readonly level: 'domain';
  readonly score: (view: View, where: NodeDomain) => number;
}

const steps = 2 ** 20;

/**
 * Rounded to a millionth part. Times a whole weight such parts add up exactly, in whatever order they are added, so
 * that what is remembered in pieces and what is added up at once are the same number.
 */
export const rounded = (score: number): number => Math.round(score * steps) / steps;
