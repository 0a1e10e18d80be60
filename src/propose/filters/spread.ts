import { spreadCounts } from '../../model/placement-rules.js';
import type { NodeDomain } from '../node-table.js';
import type { SchedulingClass } from '../scheduling-class.js';
import type { DomainFilter, NodeFilter, View } from './filter.js';

/** How many replicas of the workload a node may have at most. */
const mostPerNode = ({ spread }: SchedulingClass): number => {
  let most = Number.POSITIVE_INFINITY;
  for (const { topology, mode, maxSkew } of spread)
    if (topology === 'Node' && mode === 'Required' && maxSkew < most) most = maxSkew;
  return most;
};

/** How many replicas of the workload are on a node, of whichever revision. */
export const ownOnNode = ({ cls, nodes }: View, row: number): number => {
  let count = 0;
  for (const key of cls.ownKeys) count += nodes.revisionRows.countAt(key, row);
  return count;
};

/** Takes nodes; passes those with fewer replicas of the workload than a rule of spreading over nodes allows. */
export const spread: NodeFilter = {
  level: 'node',
  name: 'spread',
  reason: 'SpreadViolated',
  applies: (cls) => mostPerNode(cls) < Number.POSITIVE_INFINITY,
  rejects: (view, row) => ownOnNode(view, row) + 1 > mostPerNode(view.cls),
  says: (view, row) =>
    `has ${ownOnNode(view, row)} replicas of ${view.cls.spec.workload}; at most ${mostPerNode(view.cls)} per node`,
};

function uneven({ cls, around }: View, where: NodeDomain): string | undefined {
  for (const { topology, mode, maxSkew } of cls.spread) {
    if (mode !== 'Required' || topology === 'Node') continue;
    const counts = topology === 'Zone' ? around.own.zones : around.own.regions;
    const { domain, here, fewest } = spreadCounts(cls.spec, topology, where, counts, cls);
    if (here + 1 - fewest > maxSkew)
      return `${domain} would have ${here + 1} replicas of ${cls.spec.workload} and another ${fewest}; at most ${maxSkew} more`;
  }
  return undefined;
}

/** Takes zones; passes those where one more replica leaves the workload spread as evenly as it demands. */
export const spreadOverDomains: DomainFilter = {
  level: 'domain',
  name: 'spread-domain',
  reason: 'SpreadViolated',
  applies: (cls) => cls.spread.some(({ mode, topology }) => mode === 'Required' && topology !== 'Node'),
  rejects: (view, where) => uneven(view, where) !== undefined,
  says: (view, where) => `is where too many are: ${uneven(view, where) ?? ''}`,
};
