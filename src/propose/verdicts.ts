import { refusedByGrant } from '../model/asked.js';
import type { Reason } from '../model/reasons.js';
import type { CellState } from './cell-state.js';
import type { ClassKey, NodeAgeMs, Verdict } from './contract.js';
import { filters } from './filters/all.js';
import type { Filter, View } from './filters/filter.js';
import { customRefusal, type Plugin, pluginNode, pluginWork } from './plugin.js';
import { schedulingClass } from './scheduling-class.js';
import { surroundingsOf } from './surroundings.js';

export interface VerdictOptions {
  readonly ages: NodeAgeMs;
  readonly plugins?: readonly Plugin[];
}

/** What speaks against a node. */
export interface NodeVerdicts {
  readonly node: string;
  readonly against: readonly Verdict[];
}

/** What a filter says of a row: undefined if it has nothing against it. */
export function refusal(view: View, filter: Filter, row: number): string | undefined {
  const shape = view.nodes.shapeAt(row);
  if (shape === undefined) return undefined;
  switch (filter.level) {
    case 'shape':
      return filter.rejects(view.cls, shape) ? filter.says(view.cls, shape) : undefined;
    case 'node':
      return filter.applies(view.cls) && filter.rejects(view, row) ? filter.says(view, row) : undefined;
    case 'domain':
      return filter.applies(view.cls) && filter.rejects(view, shape) ? filter.says(view, shape) : undefined;
  }
}

const passed = (filter: string): Verdict => ({ filter, passes: true });
const failed = (filter: string, reason: Reason, message: string): Verdict => ({
  filter,
  passes: false,
  reason,
  message,
});

function verdictsAt(view: View, row: number, plugins: readonly Plugin[]): Verdict[] {
  const name = view.nodes.names[row] ?? '';
  const own = filters.map((filter) => {
    const says = refusal(view, filter, row);
    return says === undefined
      ? passed(filter.name)
      : failed(filter.name, filter.reason, `node ${name} ${says}`);
  });
  const custom = plugins
    .flatMap((plugin) => plugin.filters)
    .map((filter) => {
      const says = customRefusal(filter, pluginWork(view), pluginNode(view, row));
      return says === undefined
        ? passed(filter.name)
        : failed(filter.name, 'PluginRefused', `node ${name} ${says}`);
    });
  return [...own, ...custom];
}

function viewOf(cell: CellState, classKey: ClassKey, ages: NodeAgeMs): View | undefined {
  const cls = schedulingClass(cell, classKey);
  return cls && { cls, nodes: cell.nodes, around: surroundingsOf(cell, cls), ages };
}

/** What the tenant's grant says of one replica more of the class. */
export function quotaVerdict(cell: CellState, { cls }: Pick<View, 'cls'>): Verdict {
  const refused = refusedByGrant(cell.tenantAccount(cls.tenant), cls.charged, cls.tenant);
  return refused === undefined ? passed('quota') : failed('quota', refused.reason, refused.message);
}

/**
 * What every filter says of one node for one replica more of a class, not stopping at the first, in the order in which
 * the authority checks; then the quota of the tenant. Empty if the class is gone.
 */
export function verdictsOn(
  cell: CellState,
  classKey: ClassKey,
  node: string,
  { ages, plugins = [] }: VerdictOptions,
): readonly Verdict[] {
  const view = viewOf(cell, classKey, ages);
  if (view === undefined) return [];
  const row = cell.nodes.rowOf(node);
  const quota = quotaVerdict(cell, view);
  if (row === undefined || !cell.nodes.isNode(row))
    return [failed('node', 'NoNode', `there is no node ${node}`), quota];
  return [...verdictsAt(view, row, plugins), quota];
}

/**
 * What speaks against each node, one after the other: nothing where every filter passes. The tenant's quota is not
 * among it, because it is of the class. None if the class is gone.
 */
export function* verdictsOnEach(
  cell: CellState,
  classKey: ClassKey,
  { ages, plugins = [] }: VerdictOptions,
): Generator<NodeVerdicts> {
  const view = viewOf(cell, classKey, ages);
  if (view === undefined) return;
  for (let row = 0; row < cell.nodes.rows; row += 1)
    if (cell.nodes.isNode(row))
      yield {
        node: cell.nodes.names[row] ?? '',
        against: verdictsAt(view, row, plugins).filter(({ passes }) => !passes),
      };
}
