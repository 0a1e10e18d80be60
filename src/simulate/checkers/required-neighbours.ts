import type { Node } from '../../model/kinds/node.js';
import type { WorkloadRevisionSpec } from '../../model/kinds/workload-revision.js';
import { labelSelectorOf, matchesLabels } from '../../model/label-selector.js';
import type { CellView } from './cell-view.js';
import type { ChargeBook } from './charge-book.js';
import type { LiveCharge } from './charges.js';
import type { Waiting } from './node-fit.js';
import { regionOf, zoneOf } from './node-rules.js';

type Rule = NonNullable<NonNullable<WorkloadRevisionSpec['placement']>['affinity']>[number];

/** The rules about neighbours that the scheduler alone keeps: affinity, and anti-affinity by zone or region across workloads. */
export class RequiredNeighbours {
  constructor(
    private readonly cell: CellView,
    private readonly book: ChargeBook,
    private readonly nodes: readonly Node[],
  ) {}

  /** Whether they let one more replica onto the node. */
  allow(node: Node, waiting: Waiting): boolean {
    const { affinity = [], antiAffinity = [] } = waiting.revision.placement ?? {};
    return (
      affinity.filter(isHard).every((rule) => this.#isMet(rule, node, waiting)) &&
      antiAffinity
        .filter((rule) => isHard(rule) && rule.topology !== 'Node')
        .every((rule) => !this.#found(rule, waiting).some((one) => this.#isNear(rule, node, one)))
    );
  }

  /** Where there is none that the rule speaks of, the first of its own kind goes anywhere. */
  #isMet(rule: Rule, node: Node, waiting: Waiting): boolean {
    const { replica, revision } = waiting;
    const found = this.#found(rule, waiting);
    return found.length === 0
      ? speaksOf(rule, waiting, replica.spec.workload, revision)
      : found.some((one) => this.#isNear(rule, node, one));
  }

  /** The charges that a rule speaks of: rules never reach across tenants. */
  #found(rule: Rule, waiting: Waiting): readonly LiveCharge[] {
    return this.nodes
      .flatMap(({ metadata }) => [...this.book.chargesOnNode(metadata.name)])
      .filter(({ charge: { tenant, workload = '', revision = '' } }) => {
        const other = this.cell.object('WorkloadRevision', tenant, revision)?.spec;
        return tenant === waiting.tenant && speaksOf(rule, waiting, workload, other);
      });
  }

  #isNear({ topology }: Rule, node: Node, { charge }: LiveCharge): boolean {
    const other = this.nodes.find(({ metadata }) => metadata.name === charge.node);
    if (topology === 'Node' || other === undefined) return charge.node === node.metadata.name;
    const isSameRegion = regionOf(other) === regionOf(node);
    return topology === 'Region' ? isSameRegion : isSameRegion && zoneOf(other) === zoneOf(node);
  }
}

const isHard = ({ mode = 'Required' }: Rule): boolean => mode === 'Required';

const speaksOf = (
  { selector }: Rule,
  { replica }: Waiting,
  workload: string,
  revision: WorkloadRevisionSpec | undefined,
): boolean =>
  selector === undefined
    ? workload === replica.spec.workload
    : matchesLabels(labelSelectorOf(selector), revision?.template.labels ?? {});
