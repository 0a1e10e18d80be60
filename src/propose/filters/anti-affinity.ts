import type { View } from './filter.js';
import type { DomainFilter, NodeFilter } from './filter.js';
import { countIn, type DomainCounts } from '../surroundings.js';
import type { NodeDomain } from '../node-table.js';

/** Takes nodes; passes those without a replica that this class, by its own rule or the other's, must not be with. */
export const antiAffinity: NodeFilter = {
  level: 'node',
  name: 'anti-affinity',
  reason: 'AntiAffinity',
  applies: ({ apartKeys }) => apartKeys.length > 0,
  rejects: ({ cls, nodes }, row) => cls.apartKeys.some((key) => nodes.revisionRows.countAt(key, row) > 0),
  says: ({ cls, nodes }, row) =>
    `has replicas to be kept apart from: ${cls.apartKeys.find((key) => nodes.revisionRows.countAt(key, row) > 0) ?? ''}`,
};

/** The first rule that is broken there. Among the own replicas the account of the workload counts, as for the authority. */
function broken({ cls, around }: View, where: NodeDomain): string | undefined {
  for (const [at, { topology, isRequired, isAboutOwnWorkload }] of cls.antiAffinity.entries()) {
    if (!isRequired || topology === 'Node') continue;
    const isThere =
      countIn(around.antiAffinity[at] as DomainCounts, topology, where) > 0 ||
      (isAboutOwnWorkload && countIn(around.own, topology, where) > 0);
    if (isThere) return topology === 'Zone' ? `zone ${where.region}/${where.zone}` : `region ${where.region}`;
  }
  return undefined;
}

/** Takes zones; passes those without a replica that this class must not share a zone or region with. */
export const antiAffinityInDomain: DomainFilter = {
  level: 'domain',
  name: 'anti-affinity-domain',
  reason: 'AntiAffinity',
  applies: (cls) => cls.antiAffinity.some(({ isRequired, topology }) => isRequired && topology !== 'Node'),
  rejects: (view, where) => broken(view, where) !== undefined,
  says: (view, where) => `is where others are to be kept apart from: ${broken(view, where) ?? ''}`,
};
