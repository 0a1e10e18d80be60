import type { Env } from '../../env/env.js';
import type { PlacementFacts } from '../../model/explanation.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { Records } from '../../model/ports.js';
import { builtinPolicy } from '../../model/policy.js';
import { objectKey, tenantAccountKey, workloadAccountKey } from '../../model/records.js';
import { CellPreemption } from '../cell-preemption.js';
import type { CellState } from '../cell-state.js';
import type { ClassKey, PendingReplica } from '../contract.js';
import { GangPlanning } from '../gang-planning.js';
import { PreemptionPlanner, type PreemptionResult } from '../preemption.js';
import { RankCache } from '../rank-cache.js';
import { type VerdictOptions, verdictsOnEach } from '../verdicts.js';
import { Stretch } from './stretch.js';

// Who is on very many nodes is not asked for the sake of one answer: past this, room that could be made is not foreseen.
const nodesMax = 500;
const recordsPerTurn = 1_000;
const aboutRoom: ReadonlySet<string> = new Set(['resources', 'devices', 'ports']);

interface Parts {
  readonly records: Pick<Records, 'read' | 'entries'>;
  readonly env: Pick<Env, 'clock' | 'yield'>;
}

/**
 * The room that the scheduler would make for a replica which no node takes as it is: asked of its own planner, on a
 * picture that is told who is on the nodes which nothing but room speaks against.
 */
export async function foreseenRoom(
  parts: Parts,
  cell: CellState,
  replica: PendingReplica,
  options: VerdictOptions,
): Promise<PlacementFacts['room']> {
  const stretch = new Stretch(parts.env);
  const preemption = await preemptionFor(parts, stretch, cell, [replica.classKey], options);
  if (preemption === undefined) return undefined;
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

/** The same for members of a gang, of which so many have to find a place together. */
export async function foreseenRoomForGang(
  parts: Parts,
  cell: CellState,
  members: readonly PendingReplica[],
  wanted: number,
  options: VerdictOptions,
): Promise<PlacementFacts['room']> {
  const stretch = new Stretch(parts.env);
  const classKeys = [...new Set(members.map(({ classKey }) => classKey))];
  const preemption = await preemptionFor(parts, stretch, cell, classKeys, options);
  if (preemption === undefined) return undefined;
  const planner = new PreemptionPlanner(preemption);
  const proposing = { ...options, policy: builtinPolicy, seed: 0, ranks: new RankCache() };
  const planning = new GangPlanning({ cell, planner, options: proposing }, members, wanted);
  const moment = { version: cell.version, ageMs: 0, mayGoOn: stretch.mayGoOn };
  let plan = planning.goOn(moment);
  while (plan === undefined) {
    await stretch.next();
    // Its own plans change nodes, and those of very many members too many for one look.
    if (preemption.isLooking) preemption.look();
    else plan = planning.goOn(moment);
  }
  if (plan.kind !== 'Places') return undefined;
  const places = plan.parts.flatMap((part) => part.places);
  const made = places.flatMap((place) => ('victims' in place ? place : []));
  const nodes = new Set(made.map(({ node }) => node));
  const [node] = nodes;
  const evictions = made.reduce((sum, { victims }) => sum + victims.length, 0);
  return node === undefined ? undefined : { node, nodes: nodes.size, evictions };
}

/** Undefined if room is not what is missing on any node. */
async function preemptionFor(
  parts: Parts,
  stretch: Stretch,
  cell: CellState,
  classKeys: readonly ClassKey[],
  options: VerdictOptions,
): Promise<CellPreemption | undefined> {
  const nodes = new Set<string>();
  for (const classKey of classKeys)
    for (const { node, against } of verdictsOnEach(cell, classKey, options)) {
      await stretch.next();
      if (!against.every(({ filter }) => aboutRoom.has(filter))) continue;
      nodes.add(node);
      if (nodes.size === nodesMax) break;
    }
  if (nodes.size === 0) return undefined;
  await takeIn(parts, cell, nodes);
  const preemption = new CellPreemption(cell, { seed: 0, ...options });
  if (!preemption.isReady()) while (!preemption.look()) await parts.env.yield();
  return preemption;
}

/** Tells the picture who is on these nodes, with all that their rank and their limits follow from. */
async function takeIn({ records, env }: Parts, cell: CellState, nodes: ReadonlySet<string>): Promise<void> {
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
