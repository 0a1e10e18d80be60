import type { RoomlessRules } from './cell-preemption.js';
import type { CellState } from './cell-state.js';
import type { ClassKey, NodeAgeMs } from './contract.js';
import { domainFilters, nodeFilters, shapeFilters } from './filters/all.js';
import { devices } from './filters/devices.js';
import type { View } from './filters/filter.js';
import { freshness } from './filters/freshness.js';
import { ports } from './filters/ports.js';
import { resources } from './filters/resources.js';
import { schedulingClass } from './scheduling-class.js';
import { surroundingsOf } from './surroundings.js';

const roomFilters: ReadonlySet<unknown> = new Set([resources, devices, ports]);
const aroundFilters = [...nodeFilters, freshness].filter((filter) => !roomFilters.has(filter));

/** Every filter but those about room, for who would make room. What is around is looked at anew for each class and plan. */
export class FilterRules implements RoomlessRules {
  #view: { readonly classKey: ClassKey; readonly view: View | undefined } | undefined;

  constructor(
    private readonly cell: CellState,
    private readonly ages: NodeAgeMs,
  ) {}

  /** The cell has changed, or another plan begins. */
  begin(): void {
    this.#view = undefined;
  }

  takes(classKey: ClassKey, row: number): boolean {
    const view = this.#viewOf(classKey);
    const shape = this.cell.nodes.shapeAt(row);
    if (view === undefined || shape === undefined) return false;
    return !shapeFilters.some((filter) => filter.rejects(view.cls, shape));
  }

  allows(classKey: ClassKey, row: number): boolean {
    const view = this.#viewOf(classKey);
    const shape = this.cell.nodes.shapeAt(row);
    if (view === undefined || shape === undefined) return false;
    return (
      !aroundFilters.some((filter) => filter.applies(view.cls) && filter.rejects(view, row)) &&
      !domainFilters.some((filter) => filter.applies(view.cls) && filter.rejects(view, shape))
    );
  }

  #viewOf(classKey: ClassKey): View | undefined {
    if (this.#view?.classKey !== classKey) {
      const cls = schedulingClass(this.cell, classKey);
      const view = cls && {
        ...{ cls, nodes: this.cell.nodes, ages: this.ages },
        around: surroundingsOf(this.cell, cls),
      };
      this.#view = { classKey, view };
    }
    return this.#view.view;
  }
}
