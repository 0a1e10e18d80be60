import type { Cure } from '../../../model/explanation.js';
import type { CellState } from '../../cell-state.js';
import type { ClassKey } from '../../contract.js';
import { schedulingClass } from '../../scheduling-class.js';
import { type NodeVerdicts, verdictsOn, type VerdictOptions } from '../../verdicts.js';
import type { Stretch } from '../stretch.js';
import { capacityCures, newNodeCures } from './capacity-cures.js';
import { asIfCured } from './cure-records.js';
import { nodeCure, poolCure } from './node-cures.js';
import { tenantCures } from './tenant-cures.js';
import { type CureContext, isWithin, sizeOf, type TriedCure } from './tried-cure.js';
import { workloadCure } from './workload-cures.js';

export interface CureOptions extends VerdictOptions {
  /** The slot is of this node alone. */
  readonly onlyNode?: string;
  /** Others get their turn between any two cures that are tried. */
  readonly stretch: Pick<Stretch, 'next'>;
}

// How many of one sort are offered: those that change least.
const curesPerSort = 3;
// How many nodes are tried for each sort, those with least against them first.
const nodesTried = 50;

/**
 * Of what speaks against each node, changes of a single object, each of which would let one replica more of the class be placed, while no smaller change
 * of it would. Each is tried on the cell, which is left as it was: what is returned is true of it.
 */
export async function curesFor(
  cell: CellState,
  classKey: ClassKey,
  judged: readonly NodeVerdicts[],
  options: CureOptions,
): Promise<Cure[]> {
  const cls = schedulingClass(cell, classKey);
  if (cls === undefined) return [];
  const context: CureContext = {
    ...{ cell, classKey, cls },
    fitting: judged.filter(({ against }) => against.length === 0).map(({ node }) => node),
    refused: judged
      .filter(({ against }) => against.length > 0)
      .toSorted((a, b) => a.against.length - b.against.length || (a.node < b.node ? -1 : 1))
      .slice(0, nodesTried),
    ask: (node) => verdictsOn(cell, classKey, node, options),
  };
  const isQuotaOpen = verdictsOn(cell, classKey, '', options).at(-1)?.passes === true;
  if (isQuotaOpen && context.fitting.length > 0) return [];
  const best = (cures: readonly TriedCure[], most = curesPerSort): Promise<Cure[]> =>
    smallestOf(cures, most, async ({ cure, node }) => {
      await options.stretch.next();
      return asIfCured(cell, classKey, cure, () => {
        const verdicts = context.ask(node);
        return verdicts.length > 0 && verdicts.every(({ passes }) => passes);
      });
    });
  const tenant = await best(tenantCures(context, isQuotaOpen));
  // What has no quota runs on no node, whatever is changed there.
  if (!isQuotaOpen) return tenant;
  return [
    ...(await best(context.refused.flatMap((one) => nodeCure(context, one) ?? []))),
    ...(await best(capacityCures(context))),
    ...(await best(context.refused.flatMap((one) => workloadCure(context, one) ?? []))),
    ...(await best(context.refused.flatMap((one) => poolCure(context, one) ?? []))),
    ...tenant,
    ...(options.onlyNode === undefined ? await best(newNodeCures(context), 1) : []),
  ];
}

/** Those that help and of which nothing can be left out, the first few. */
async function smallestOf(
  cures: readonly TriedCure[],
  most: number,
  helps: (cure: TriedCure) => Promise<boolean>,
): Promise<Cure[]> {
  const found: TriedCure[] = [];
  for (const each of cures.toSorted((a, b) => sizeOf(a) - sizeOf(b))) {
    if (found.some((smaller) => isWithin(smaller, each)) || !(await helps(each))) continue;
    found.push(each);
    if (found.length === most) break;
  }
  return found.map(({ cure }) => cure);
}
