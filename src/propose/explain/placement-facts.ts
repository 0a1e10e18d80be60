import type { PlacementFacts } from '../../model/explanation.js';
import { rejectedNamesMax } from '../../model/kinds/decision.js';
import type { CellState } from '../cell-state.js';
import type { ClassKey, Verdict } from '../contract.js';
import { type NodeVerdicts, verdictsOn, verdictsOnEach } from '../verdicts.js';
import { type CureOptions, curesFor } from './cures/cures.js';

interface Rejected {
  readonly reason: string;
  count: number;
  readonly nodes: string[];
  readonly message: string;
}

/**
 * What the rules say of one replica of a class on all nodes, or on the one its slot is for. Undefined if the class is gone.
 * Others get their turn meanwhile, so the cell must be nobody else's.
 */
export async function placementFacts(
  cell: CellState,
  classKey: ClassKey,
  replica: string,
  options: CureOptions,
): Promise<PlacementFacts | undefined> {
  if (cell.revision(classKey) === undefined) return undefined;
  const fits: string[] = [];
  const rejections = new Map<string, Rejected>();
  const judged: NodeVerdicts[] = [];
  let fitting = 0;
  for (const verdicts of verdictsOnEach(cell, classKey, options)) {
    await options.stretch.next();
    const { node, against } = verdicts;
    if (options.onlyNode !== undefined && node !== options.onlyNode) continue;
    judged.push(verdicts);
    if (against.length === 0) {
      fitting += 1;
      if (fits.length < rejectedNamesMax) fits.push(node);
    }
    for (const [reason, message] of oncePerReason(against)) {
      let rejected = rejections.get(reason);
      if (rejected === undefined)
        rejections.set(reason, (rejected = { reason, count: 0, nodes: [], message }));
      rejected.count += 1;
      if (rejected.nodes.length < rejectedNamesMax) rejected.nodes.push(node);
    }
  }
  const quota = quotaOf(cell, classKey, options);
  return {
    replica,
    revision: cell.version,
    isPlaceable: fitting > 0 && quota === undefined,
    ...(quota !== undefined && { quota }),
    nodes: judged.length,
    fits: { count: fitting, nodes: fits },
    rejections: [...rejections.values()].toSorted(
      (a, b) => b.count - a.count || (a.reason < b.reason ? -1 : 1),
    ),
    cures: await curesFor(cell, classKey, judged, options),
  };
}

/** Two filters may have one reason; a node counts once for it. */
function oncePerReason(against: readonly Verdict[]): ReadonlyMap<string, string> {
  const messages = new Map<string, string>();
  for (const { filter, reason = filter, message = '' } of against)
    if (!messages.has(reason)) messages.set(reason, message);
  return messages;
}

/** The last verdict on any node, known or not, is that of the tenant's quota. */
function quotaOf(cell: CellState, classKey: ClassKey, options: CureOptions): PlacementFacts['quota'] {
  const verdict = verdictsOn(cell, classKey, '', options).at(-1);
  return verdict === undefined || verdict.passes
    ? undefined
    : { reason: verdict.reason ?? verdict.filter, message: verdict.message ?? '' };
}
