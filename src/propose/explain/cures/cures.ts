import type { Cure } from '../../../model/explanation.js';
import type { CellState } from '../../cell-state.js';
import type { ClassKey } from '../../contract.js';
import { schedulingClass } from '../../scheduling-class.js';
import { verdictsOn, verdictsOnEach, type VerdictOptions } from '../../verdicts.js';
import { capacityCures, newNodeCures } from './capacity-cures.js';
import { asIfCured } from './cure-records.js';
import { nodeCure, poolCure } from './node-cures.js';
import { tenantCures } from './tenant-cures.js';
import { type CureContext, isWithin, sizeOf, type TriedCure } from './tried-cure.js';
import { workloadCure } from './workload-cures.js';

export interface CureOptions extends VerdictOptions {
  /** The slot is of this node alone. */
  readonly onlyNode?: string;
}

// How many of one sort are offered: those that change least.
const curesPerSort = 3;
// How many nodes are tried for each sort, those with least against them first.
const nodesTried = 50;

/**
 * Changes of a single object, each of which would let one replica more of the class be placed, while no smaller change
 * of it would. Each is tried on the cell, which is left as it was: what is returned is true of it.
 */
export function curesFor(cell: CellState, classKey: ClassKey, options: CureOptions): Cure[] {
  const cls = schedulingClass(cell, classKey);
  if (cls === undefined) return [];
  const all = [...verdictsOnEach(cell, classKey, options)].filter(
    ({ node }) => options.onlyNode === undefined || node === options.onlyNode,
  );
  const context: CureContext = {
    ...{ cell, classKey, cls },
    fitting: all.filter(({ against }) => against.length === 0).map(({ node }) => node),
    refused: all
      .filter(({ against }) => against.length > 0)
      .toSorted((a, b) => a.against.length - b.against.length || (a.node < b.node ? -1 : 1))
      .slice(0, nodesTried),
    ask: (node) => verdictsOn(cell, classKey, node, options),
  };
  const isQuotaOpen = verdictsOn(cell, classKey, '', options).at(-1)?.passes === true;
  if (isQuotaOpen && context.fitting.length > 0) return [];
  const best = (cures: readonly TriedCure[], most = curesPerSort): Cure[] =>
    smallestOf(cures, most, ({ cure, node }) =>
      asIfCured(cell, classKey, cure, () => {
        const verdicts = context.ask(node);
        return verdicts.length > 0 && verdicts.every(({ passes }) => passes);
      }),
    );
  const tenant = best(tenantCures(context, isQuotaOpen));
  // What has no quota runs on no node, whatever is changed there.
  if (!isQuotaOpen) return tenant;
  return [
    ...best(context.refused.flatMap((one) => nodeCure(context, one) ?? [])),
    ...best(capacityCures(context)),
    ...best(context.refused.flatMap((one) => workloadCure(context, one) ?? [])),
    ...best(context.refused.flatMap((one) => poolCure(context, one) ?? [])),
    ...tenant,
    ...(options.onlyNode === undefined ? best(newNodeCures(context), 1) : []),
  ];
}

/** Those that help and of which nothing can be left out, the first few. */
function smallestOf(cures: readonly TriedCure[], most: number, helps: (cure: TriedCure) => boolean): Cure[] {
  const found: TriedCure[] = [];
  for (const each of cures.toSorted((a, b) => sizeOf(a) - sizeOf(b))) {
    if (found.some((smaller) => isWithin(smaller, each)) || !helps(each)) continue;
    found.push(each);
    if (found.length === most) break;
  }
  return found.map(({ cure }) => cure);
}
