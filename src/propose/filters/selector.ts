import { ownValue } from '../../model/amount.js';
import type { NodeShape } from '../node-table.js';
import type { SchedulingClass } from '../scheduling-class.js';
import type { ShapeFilter } from './filter.js';

const missed = ({ spec }: SchedulingClass, { labels }: NodeShape): readonly [string, string] | undefined =>
  Object.entries(spec.placement?.nodeSelector ?? {}).find(([key, value]) => ownValue(labels, key) !== value);

/** Takes nodes; passes those with the labels that the workload selects nodes by. */
export const selector: ShapeFilter = {
  level: 'shape',
  name: 'selector',
  reason: 'SelectorMismatch',
  rejects: (cls, shape) => missed(cls, shape) !== undefined,
  says: (cls, shape) => {
    const [key = '', value = ''] = missed(cls, shape) ?? [];
    return `has ${key}=${ownValue(shape.labels, key) ?? '(none)'}, not ${value}`;
  },
};
