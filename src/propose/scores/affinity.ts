import type { View } from '../filters/filter.js';
import type { NodeTable } from '../node-table.js';
import type { NeighbourTerm, SchedulingClass } from '../scheduling-class.js';
import { countIn, type DomainCounts } from '../surroundings.js';
import type { DomainScore, NodeScore } from './score.js';

type Level = 'node' | 'domain';

const isPreferred = (level: Level) => (term: NeighbourTerm) =>
  !term.isRequired && (term.topology === 'Node') === (level === 'node');

const applies =
  (level: Level) =>
  ({ cls: { affinity, antiAffinity } }: View): boolean =>
    affinity.some(isPreferred(level)) || antiAffinity.some(isPreferred(level));

/** What all preferences about neighbours weigh together. */
const weightOf = ({ affinity, antiAffinity }: SchedulingClass): number =>
  [...affinity, ...antiAffinity].reduce((sum, term) => sum + (term.isRequired ? 0 : term.weight), 0);

const countOnNode = ({ keys }: NeighbourTerm, nodes: NodeTable, row: number): number =>
  keys.reduce((sum, key) => sum + nodes.revisionRows.countAt(key, row), 0);

/** Which share of the preferences about neighbours on the same node is met. */
export const affinityOnNode: NodeScore = {
  level: 'node',
  name: 'affinity',
  applies: applies('node'),
  score: ({ cls, nodes }, row) => {
    let met = 0;
    for (const term of cls.affinity.filter(isPreferred('node')))
      if (countOnNode(term, nodes, row) > 0) met += term.weight;
    for (const term of cls.antiAffinity.filter(isPreferred('node')))
      met += term.weight / (1 + countOnNode(term, nodes, row));
    return met / weightOf(cls);
  },
};

/** Which share of the preferences about neighbours in the zone or region is met. */
export const affinityInDomain: DomainScore = {
  level: 'domain',
  name: 'affinity',
  applies: applies('domain'),
  score: ({ cls, around }, where) => {
    let met = 0;
    for (const [at, { topology, isRequired, weight }] of cls.affinity.entries())
      if (!isRequired && topology !== 'Node')
        met += countIn(around.affinity[at] as DomainCounts, topology, where) > 0 ? weight : 0;
    for (const [at, { topology, isRequired, weight }] of cls.antiAffinity.entries())
      if (!isRequired && topology !== 'Node')
        met += weight / (1 + countIn(around.antiAffinity[at] as DomainCounts, topology, where));
    return met / weightOf(cls);
  },
};
