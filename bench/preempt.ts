import { nodeAccountKey, objectKey, statusKey } from '../src/model/records.js';
import { CellPreemption } from '../src/propose/cell-preemption.js';
import { GangPlanning } from '../src/propose/gang-planning.js';
import type { PendingReplica } from '../src/propose/contract.js';
import { PreemptionPlanner } from '../src/propose/preemption.js';
import { RankCache } from '../src/propose/rank-cache.js';
import { builtinPolicy } from '../src/model/policy.js';
import { DecideCell, gibi } from './decide-cell.js';
import type { Bench, Figure } from './measure.js';
import { onCoreClock } from './on-core.js';

const nodes = 5_000;
const perNode = 20;

/** Full nodes: on each the same number of replicas, of three priorities and several sizes. */
function fullCell(): DecideCell {
  const cell = new DecideCell();
  cell.tenant('shop');
  cell.tenant('bank');
  for (const [name, value] of Object.entries({ default: 0, low: -5, middle: 5, top: 10 }))
    cell.put('PriorityClass', undefined, name, { value });
  const classes = ['low', 'default', 'middle'].map((priorityClassName) => {
    const name = `${priorityClassName}-work`;
    cell.put('Workload', 'shop', name, { disruption: { maxUnavailable: 1_000 } });
    cell.put('WorkloadRevision', 'shop', `${name}-1`, { workload: name, template: {}, priorityClassName });
    return name;
  });
  for (let node = 0; node < nodes; node++) {
    const name = `node-${node}`;
    const account = cell.node(name, { cpuMilli: perNode * 1_000, memoryBytes: perNode * 4 * gibi });
    for (let at = 0; at < perNode; at++) {
      const workload = classes[(node + at) % classes.length] as string;
      const slot = node * perNode + at;
      const replica = `${workload}-${slot}-1`;
      cell.cell.apply(objectKey('Replica', 'shop', replica), {
        metadata: { name: replica, namespace: 'shop', uid: `uid-${slot}` },
        spec: { workload, slot: String(slot), incarnation: 1, revision: `${workload}-1` },
      });
      cell.cell.apply(statusKey('Replica', 'shop', replica), {
        status: {
          stage: 'Serving',
          binding: { node: name, fence: String(slot) },
          charge: {
            tenant: 'shop',
            node: name,
            rank: 'Borrowed',
            amounts: amounts[at % amounts.length],
            workload,
            revision: `${workload}-1`,
          },
        },
      });
    }
    cell.cell.apply(nodeAccountKey(name), {
      ...account,
      used: { ...account.allocatable, replicas: perNode },
      revisions: Object.fromEntries(classes.map((one) => [`shop/${one}-1`, 1])),
    });
  }
  return cell;
}

const amounts = [
  { cpu: '1', memory: '4Gi' },
  { cpu: '1500m', memory: '2Gi' },
  { cpu: '500m', memory: '6Gi' },
];

const pendingOf = (classKey: string, count: number): PendingReplica[] =>
  Array.from({ length: count }, (_, slot) => {
    const [tenant = '', revision = ''] = classKey.split('/');
    const workload = revision.replace(/-\d+$/, '');
    const name = `${workload}-${slot}-1`;
    return { tenant, name, uid: `uid-${name}`, classKey, workload, slot: String(slot), sinceMs: 0 };
  });

/** Everybody is put in order once, in stretches that others run between: the longest of them. */
function firstLook(view: CellPreemption): Pick<Figure, 'value' | 'unit' | 'target'> {
  const onCoreMs = onCoreClock();
  let longestMs = 0;
  // What making the cell left behind is none of its business.
  globalThis.gc?.();
  for (let isReady = view.isReady(); !isReady;) {
    const fromMs = onCoreMs();
    isReady = view.look();
    longestMs = Math.max(longestMs, onCoreMs() - fromMs);
  }
  return { value: longestMs, unit: 'ms, its longest stretch', target: { atMost: 20 } };
}

/** A gang is planned in stretches that others run between: the longest of them. */
function longestStretch(
  { cell }: DecideCell,
  view: CellPreemption,
  classKey: string,
  members: number,
): Pick<Figure, 'value' | 'unit' | 'target'> {
  const options = { policy: builtinPolicy, seed: 1, ages: () => 0, ranks: new RankCache() };
  const planner = new PreemptionPlanner(view);
  const replicas = pendingOf(classKey, members);
  const onCoreMs = onCoreClock();
  let bestMs = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 3; round++) {
    const planning = new GangPlanning({ cell, planner, options }, replicas, members);
    let longestMs = 0;
    for (let isOver = false; !isOver;) {
      const fromMs = onCoreMs();
      // As the driver of gangs: half of what others may be kept waiting for.
      const mayGoOn = (): boolean => onCoreMs() - fromMs < 8;
      const plan = planning.goOn({ version: '1', ageMs: 0, mayGoOn });
      if (view.isLooking) view.look();
      longestMs = Math.max(longestMs, onCoreMs() - fromMs);
      isOver = plan !== undefined;
      if (isOver && plan?.kind !== 'Places') throw new Error(`the gang found no places: ${plan?.kind}`);
    }
    for (const replica of replicas) cell.unassume(replica);
    bestMs = Math.min(bestMs, longestMs);
  }
  return { value: bestMs, unit: 'ms, its longest stretch', target: { atMost: 20 } };
}

export const preemptBench: Bench = {
  name: 'preempt',
  title: `victims among ${nodes * perNode} replicas on ${nodes} nodes, in time of the processor`,
  run(print) {
    const cell = fullCell();
    const small = cell.workload('bank', 'small', { cpu: '2' }, { priorityClassName: 'top' });
    const large = cell.workload('bank', 'large', { cpu: '9', memory: '30Gi' }, { priorityClassName: 'top' });
    const huge = cell.workload('bank', 'huge', { cpu: '19' }, { priorityClassName: 'middle' });
    const view = new CellPreemption(cell.cell, { seed: 1, ages: () => 0 });
    const measured = (name: string, target: number, run: () => unknown): void => {
      let best = Number.POSITIVE_INFINITY;
      for (let round = 0; round < 5; round++) {
        const before = process.cpuUsage();
        run();
        best = Math.min(best, process.cpuUsage(before).user / 1_000);
      }
      print({ name, value: best, unit: 'ms', target: { atMost: target } });
    };
    const planFor = (classKey: string, count = 1) => {
      const result = new PreemptionPlanner(view).plan(classKey, pendingOf(classKey, count));
      for (const { replica } of result.plans) cell.cell.unassume(replica);
      return result;
    };
    print({ name: 'first look at the cell', ...firstLook(view) });
    measured('nobody there can help', 10, () => planFor(huge));
    measured('two victims', 10, () => planFor(small));
    measured('many victims', 10, () => planFor(large));
    measured('100 replicas, two victims each', 100, () => planFor(small, 100));
    print({ name: 'a gang of 100, two victims each', ...longestStretch(cell, view, small, 100) });
    print({ name: 'a gang of 1,000, two victims each', ...longestStretch(cell, view, small, 1_000) });
    return Promise.resolve();
  },
};
