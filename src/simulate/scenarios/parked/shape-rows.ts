import { recoveryPoolLabel } from '../../../model/records.js';
import type { NodeShape } from '../../world/node-shape.js';
import { node } from '../../world/small-cell.js';
import { wish } from '../../world/wish.js';
import type { ParkedCell } from './parked-cell.js';
import { cell, fill, type Row, type Rows, waits } from './parked-row.js';

/** A node with room that does not fit `waits`, and a node that does. */
export interface Misfit {
  readonly node: NodeShape;
  readonly waits: ReturnType<typeof waits>;
  readonly shop?: object;
  readonly wishes?: Row['wishes'];
  readonly prepare?: Row['prepare'];
  /** A node that would do. */
  readonly fitting: NodeShape;
}

export const changed = (misfit: Misfit, cure: string, act: Row['act']): Row => ({
  cure,
  nodes: [misfit.node],
  wishes: [...cell(misfit.shop), ...(misfit.wishes ?? [])],
  ...(misfit.prepare && { prepare: misfit.prepare }),
  waits: misfit.waits,
  act,
});

/** The same node comes to do, or another comes that does. */
export const misfitRows = (
  misfit: Misfit,
  cure: string,
  act: Row['act'],
): Readonly<Record<'NodeCame' | 'NodeChanged', Rows>> => ({
  NodeCame: [changed(misfit, 'a node comes that would do', (one) => one.addNode(misfit.fitting))],
  NodeChanged: [changed(misfit, cure, act)],
});

/** Sets fields of the node before the replica comes, and waits until they are set. */
const setFirst =
  (fields: Readonly<Record<string, unknown>>): NonNullable<Row['prepare']> =>
  (one) => {
    one.set('Node', undefined, 'n1', fields);
    return () => {
      const stored = one.world.history.get('/o/Node/_/n1') as { readonly spec: object } | undefined;
      return Object.entries(fields).every(
        ([name, value]) => JSON.stringify((stored?.spec as never)?.[name]) === JSON.stringify(value),
      );
    };
  };
export const set =
  (fields: Readonly<Record<string, unknown>>) =>
  (one: ParkedCell): void =>
    one.set('Node', undefined, 'n1', fields);
export const offer =
  (change: Partial<NodeShape>) =>
  ({ world }: ParkedCell): void =>
    world.offer.get('n1')?.(change);

const once = { execution: 'AtMostOne' };
const asked = { cpu: '2' };
const plain = node('n1', '4');
const fitting = node('n2', '4');
const away = node('n1', '4', { region: 'us-east' });

export const misfits = {
  region: { node: away, waits: waits(asked, { placement: { regions: ['eu-central'] } }), fitting },
  zone: {
    node: node('n1', '4', { zone: 'b' }),
    waits: waits(asked, { placement: { zones: ['a'] } }),
    fitting,
  },
  residency: { node: away, waits: waits(asked), shop: { residency: ['EU'] }, fitting },
  lawless: {
    node: node('n1', '4', { region: 'nowhere' }),
    waits: waits(asked),
    shop: { residency: ['EU'] },
    fitting,
  },
  tenancy: { node: plain, waits: waits(asked), prepare: setFirst({ tenants: ['lab'] }), fitting },
  selector: {
    node: plain,
    waits: waits(asked, { placement: { nodeSelector: { pool: 'main' } } }),
    fitting: node('n2', '4', { labels: { pool: 'main' } }),
  },
  tainted: {
    node: node('n1', '4', { taints: [{ key: 'kept', effect: 'NoSchedule' }] }),
    waits: waits(asked),
    fitting,
  },
  unschedulable: { node: plain, waits: waits(asked), prepare: setFirst({ unschedulable: true }), fitting },
  draining: { node: plain, waits: waits(asked), prepare: setFirst({ drain: { reason: 'test' } }), fitting },
  fence: {
    node: node('n1', '4', { isUnfenced: true }),
    waits: waits(asked, { onNodeLost: { action: 'Fence', afterSeconds: 300 } }, once),
    fitting,
  },
  pool: {
    node: node('n1', '4', { labels: { [recoveryPoolLabel]: 'true' } }),
    wishes: [wish('PriorityClass', undefined, 'usual', { value: 0 })],
    waits: waits(asked, { priorityClassName: 'usual' }),
    fitting,
  },
  driver: { node: node('n1', '4', { drivers: ['container'] }), waits: waits(asked), fitting },
} as const satisfies Record<string, Misfit>;

/** The node is being deleted, which it is until nothing runs there any more; then its agent registers it again. */
export const cameAgain: Row = {
  cure: 'a node that is being deleted goes and comes again',
  detects: true,
  nodes: [plain],
  wishes: [...cell(), fill({ cpu: '1' })],
  up: { fill: 1 },
  prepare: (one) => {
    one.remove('Node', undefined, 'n1');
    return () => JSON.stringify(one.world.history.get('/o/Node/_/n1')).includes('deletionTimestamp');
  },
  waits: waits(asked),
  act: (one) => one.set('Workload', 'lab', 'fill', { replicas: 0 }),
};
