import { countIn } from '../surroundings.js';
import { ownOnNode } from '../filters/spread.js';
import type { SchedulingClass } from '../scheduling-class.js';
import type { DomainScore, NodeScore } from './score.js';

const weightOf = ({ spread }: SchedulingClass): number => spread.reduce((sum, { weight }) => sum + weight, 0);

/** The fewer replicas of the workload are on the node, the better, where a rule asks to spread over nodes. */
export const spreadOverNodes: NodeScore = {
  level: 'node',
  name: 'spread',
  applies: ({ cls }) => cls.spread.some(({ topology }) => topology === 'Node'),
  score: (view, row) => {
    const { spread } = view.cls;
    let sum = 0;
    for (const { topology, weight } of spread)
      if (topology === 'Node') sum += weight / (1 + ownOnNode(view, row));
    return sum / weightOf(view.cls);
  },
};

/** The fewer replicas of the workload are in the zone or region, the better, where a rule asks to spread over them. */
export const spreadOverDomains: DomainScore = {
  level: 'domain',
  name: 'spread',
  applies: ({ cls }) => cls.spread.some(({ topology }) => topology !== 'Node'),
  score: ({ cls, around }, where) => {
    let sum = 0;
    for (const { topology, weight } of cls.spread)
      if (topology !== 'Node') sum += weight / (1 + countIn(around.own, topology, where));
    return sum / weightOf(cls);
  },
};
