import { countIn, type DomainCounts } from '../surroundings.js';
import type { DomainFilter, NodeFilter, View } from './filter.js';
import type { NodeDomain } from '../node-table.js';

/**
 * Takes nodes; passes those with a replica that this class must share a node with. Where nothing is there yet that it
 * could be with, and it may be with its own kind, the first one goes anywhere.
 */
export const affinity: NodeFilter = {
  level: 'node',
  name: 'affinity',
  reason: 'AffinityUnmet',
  applies: (cls) => cls.affinity.some(({ isRequired, topology }) => isRequired && topology === 'Node'),
  rejects: ({ cls, nodes, around }, row) => {
    for (const [at, { topology, isRequired, isAboutSelf, keys }] of cls.affinity.entries()) {
      if (!isRequired || topology !== 'Node') continue;
      if (isAboutSelf && (around.affinity[at] as DomainCounts).total === 0) continue;
      if (!keys.some((key) => nodes.revisionRows.countAt(key, row) > 0)) return true;
    }
    return false;
  },
  says: () => 'has no replica that it must be together with',
};

function isUnmet({ cls, around }: View, where: NodeDomain): boolean {
  for (const [at, { topology, isRequired, isAboutSelf }] of cls.affinity.entries()) {
    if (!isRequired || topology === 'Node') continue;
    const counts = around.affinity[at] as DomainCounts;
    if (isAboutSelf && counts.total === 0) continue;
    if (countIn(counts, topology, where) === 0) return true;
  }
  return false;
}

/** Takes zones; passes those with a replica that this class must share a zone or region with. */
export const affinityInDomain: DomainFilter = {
  level: 'domain',
  name: 'affinity-domain',
  reason: 'AffinityUnmet',
  applies: (cls) => cls.affinity.some(({ isRequired, topology }) => isRequired && topology !== 'Node'),
  rejects: isUnmet,
  says: (_, { region, zone }) => `is in ${region}/${zone}, where nothing is that it must be together with`,
};
