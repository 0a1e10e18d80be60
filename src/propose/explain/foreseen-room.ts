import type { Env } from '../../env/env.js';
import type { PlacementFacts } from '../../model/explanation.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { Records } from '../../model/ports.js';
import { objectKey, tenantAccountKey, workloadAccountKey } from '../../model/records.js';
import { CellPreemption } from '../cell-preemption.js';
import type { CellState } from '../cell-state.js';
import type { PendingReplica } from '../contract.js';
import { PreemptionPlanner, type PreemptionResult } from '../preemption.js';
import { type VerdictOptions, verdictsOnEach } from '../verdicts.js';
import { Stretch } from './stretch.js';

// Who is on very many nodes is not asked for the sake of one answer: past this, room that could be made is not foreseen.
const nodesMax = 500;
const recordsPerTurn = 1_000;
const aboutRoom: ReadonlySet<string> = new Set(['resources', 'devices', 'ports']);

/**
 * The room that the scheduler would make for a replica which no node takes as it is: asked of its own planner, on a
 * picture that is told who is on the nodes which nothing but room speaks against.
 */
export async function foreseenRoom(
  parts: { readonly records: Pick<Records, 'read' | 'entries'>; readonly env: Pick<Env, 'clock' | 'yield'> },
  cell: CellState,
  replica: PendingReplica,
  options: VerdictOptions,
): Promise<PlacementFacts['room']> {
  const nodes = new Set<string>();
  const stretch = new Stretch(parts.env);
  for (const { node, against } of verdictsOnEach(cell, replica.classKey, options)) {
    await stretch.next();
    if (!against.every(({ filter }) => aboutRoom.has(filter))) continue;
    nodes.add(node);
    if (nodes.size === nodesMax) break;
  }
  if (nodes.size === 0) return undefined;
  await takeIn(parts, cell, nodes);
  const preemption = new CellPreemption(cell, { seed: 0, ...options });
  if (!preemption.isReady()) while (!preemption.look()) await parts.env.yield();
  const planner = new PreemptionPlanner(preemption);
  const search = (): PreemptionResult => planner.plan(replica.classKey, [replica], stretch.mayGoOn);
  let found = search();
  while (found.later.length > 0) {
    await stretch.next();
    found = search();
  }
  const [plan, free] = [found.plans[0], found.comesFree[0]];
  if (plan !== undefined) return { node: plan.node, evictions: plan.victims.length };
  return free === undefined ? undefined : { node: free.node, evictions: 0 };
}

/** Tells the picture who is on these nodes, with all that their rank and their limits follow from. */
async function takeIn(
  { records, env }: Parameters<typeof foreseenRoom>[0],
  cell: CellState,
  nodes: ReadonlySet<string>,
): Promise<void> {
  const known = new Set<string>();
  const apply = (key: string): void => {
    if (known.has(key)) return;
    known.add(key);
    cell.apply(key, records.read(key));
  };
  let count = 0;
  const statuses = [...records.entries('/s/Replica/')];
  for (const [key, value] of statuses) {
    count += 1;
    if (count % recordsPerTurn === 0) await env.yield();
    const node = (value as { readonly status?: Replica['status'] } | undefined)?.status?.binding?.node;
    if (node === undefined || !nodes.has(node)) continue;
    const [, , , tenant = '', name = ''] = key.split('/');
    const { workload = '', revision = '' } =
      (records.read(objectKey('Replica', tenant, name)) as Replica | undefined)?.spec ?? {};
    apply(objectKey('Tenant', undefined, tenant));
    apply(tenantAccountKey(tenant));
    apply(objectKey('Workload', tenant, workload));
    apply(workloadAccountKey(tenant, workload));
    apply(objectKey('WorkloadRevision', tenant, revision));
    apply(objectKey('Replica', tenant, name));
    apply(key);
  }
  for (const prefix of ['/o/Reservation/', '/s/Reservation/'])
    for (const [key] of records.entries(prefix)) apply(key);
}
