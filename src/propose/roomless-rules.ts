import type { CellState } from './cell-state.js';
import type { ClassKey } from './contract.js';
import { domainFilters, nodeFilters, shapeFilters } from './filters/all.js';
import { devices } from './filters/devices.js';
import type { NodeFilter, View } from './filters/filter.js';
import { freshness, isStale } from './filters/freshness.js';
import { ports } from './filters/ports.js';
import { resources } from './filters/resources.js';
import { customRefusal, pluginNode, pluginWork } from './plugin.js';
import type { ParkReason } from './queue/cures.js';
import { schedulingClass } from './scheduling-class.js';
import { surroundingsOf } from './surroundings.js';
import type { VerdictOptions } from './verdicts.js';

/** Whether a class may go to a node, but for room: what victims can cure is left out. A row is a node of the table. */
export interface RoomlessRules {
  /** By what operator and agent say of the node: cheap, for a pass over all nodes. */
  takes(row: number): boolean;
  /** By all the rest: who is there, how old what is known is, custom filters. Undefined: they allow it. */
  refusal(row: number): ParkReason | undefined;
}

const aboutRoom: ReadonlySet<NodeFilter> = new Set([resources, devices, ports]);

/** The rules as the cell stands now: made anew after something was placed. */
export function roomlessRules(
  cell: CellState,
  classKey: ClassKey,
  { ages, plugins = [] }: VerdictOptions,
): RoomlessRules | undefined {
  const cls = schedulingClass(cell, classKey);
  if (cls === undefined) return undefined;
  const { nodes } = cell;
  const view: View = { cls, nodes, around: surroundingsOf(cell, cls), ages };
  const byShape: (boolean | undefined)[] = [];
  const nodeRules = nodeFilters.filter((filter) => !aboutRoom.has(filter) && filter.applies(cls));
  const domainRules = domainFilters.filter((filter) => filter.applies(cls));
  const custom = plugins.flatMap((plugin) => plugin.filters);
  return {
    takes: (row) => {
      const id = nodes.shapeIds[row] ?? -1;
      let isTaken = byShape[id];
      if (isTaken === undefined) {
        const shape = nodes.shapeAt(row);
        isTaken = shape !== undefined && !shapeFilters.some((filter) => filter.rejects(cls, shape));
        if (id >= 0) byShape[id] = isTaken;
      }
      return isTaken;
    },
    refusal: (row) => {
      const shape = nodes.shapeAt(row);
      if (shape === undefined) return 'NoNode';
      if (cls.waitsWhenStale && isStale(view, row)) return freshness.reason;
      const refusing =
        nodeRules.find((filter) => filter.rejects(view, row)) ??
        domainRules.find((filter) => filter.rejects(view, shape));
      if (refusing !== undefined) return refusing.reason;
      const isRefused = custom.some(
        (filter) => customRefusal(filter, pluginWork(view), pluginNode(view, row)) !== undefined,
      );
      return isRefused ? 'PluginRefused' : undefined;
    },
  };
}
