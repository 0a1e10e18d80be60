import { type Amount, countOf, eachResource, subtractAmounts } from '../model/amount.js';
import { beyond } from '../model/amount-parts.js';
import { victimsWeightMax, victimWeight } from '../model/victims-bound.js';
import { isBelow, obeysLimit, type Occupant, type OccupiedNode, type Preemptor } from './occupants.js';
import { type CoverItem, smallestCover } from './smallest-cover.js';

/** What making room costs others. */
export interface Harm {
  /** The highest rank that is asked to leave; below all ranks if nobody is. */
  readonly rank: number;
  readonly evictions: number;
  /** What is freed beyond what is missing, as shares of what the node offers, added up. */
  readonly excess: number;
  /** When the oldest of them was made: the larger, the younger. */
  readonly oldest: number;
}

/** The order between ways to make room: the lowest ranks, then the fewest, then the least excess, then the youngest. */
export const compareHarm = (a: Harm, b: Harm): number =>
  a.rank - b.rank || a.evictions - b.evictions || a.excess - b.excess || b.oldest - a.oldest;

export interface Victims {
  /** Those that are asked to leave. */
  readonly evicted: readonly Occupant[];
  /** Those that leave already, and whose room is spoken for from now on. Nobody is harmed by that. */
  readonly leaving: readonly Occupant[];
  readonly harm: Harm;
}

interface Item extends CoverItem {
  readonly occupant: Occupant;
}

/** Below every rank that a charge can have. */
export const noRank = -(2 ** 40);

/**
 * The least harmful way to make room for it on one node, by the order of `compareHarm`; undefined if there is none, or
 * none that could be less harmful than one that is known. Where it takes more victims than one transaction carries, the
 * next higher rank is looked at, whose victims may be larger.
 * Every victim is needed: without any one of them it would not fit.
 */
export function chooseVictims(
  node: OccupiedNode,
  preemptor: Preemptor,
  disruptionsLeft: (workload: string) => number,
  mustBeat?: Harm,
): Victims | undefined {
  const missing = missingOn(node, preemptor.amount);
  const holders = portHolders(node, preemptor, disruptionsLeft);
  if (holders === undefined) return undefined;
  const leaving = node.leaving.filter((occupant) => isBelow(occupant, preemptor));
  const still = [...leaving, ...holders].reduce(lessen, missing);
  const resources = [...eachResource(still)].filter(([, count]) => count > 0);
  const item = (occupant: Occupant): Item => ({
    occupant,
    gives: resources.map(([resource]) => countOf(occupant.amount, resource) ?? 0),
    weight: shareOf(occupant.amount, node.allocatable),
    born: occupant.born,
    ...(obeysLimit(occupant, preemptor) && { cap: occupant.workload }),
  });
  const items = node.running
    .filter((occupant) => isBelow(occupant, preemptor) && !holders.includes(occupant))
    .map(item);
  const left = (workload: string): number =>
    disruptionsLeft(workload) -
    holders.filter((one) => one.workload === workload && obeysLimit(one, preemptor)).length;
  const needs = resources.map(([, count]) => count);
  const floor = Math.max(noRank, ...holders.map(({ rank }) => rank));
  for (const rank of new Set([floor, ...items.map(({ occupant }) => occupant.rank)])) {
    // Ranks come in rising order, so the first that gives a cover is the lowest that can be had.
    if (rank < floor) continue;
    if (mustBeat !== undefined && rank > mustBeat.rank) return undefined;
    const cover = smallestCover(
      items.filter(({ occupant }) => occupant.rank <= rank),
      needs,
      left,
      rank === mustBeat?.rank ? mustBeat.evictions - holders.length : undefined,
    );
    if (cover === undefined) continue;
    const evicted = [...holders, ...cover.map(({ occupant }) => occupant)];
    const spokenFor = neededOf(leaving, evicted, missing, preemptor, node);
    if (weightOf(evicted, preemptor) + spokenFor.length * victimWeight(false) > victimsWeightMax) continue;
    return {
      evicted,
      leaving: spokenFor,
      harm: {
        rank: Math.max(noRank, ...evicted.map((one) => one.rank)),
        evictions: evicted.length,
        excess: excessOf(evicted, leaving.reduce(lessen, missing), node.allocatable),
        oldest: Math.min(...evicted.map(({ born }) => born)),
      },
    };
  }
  return undefined;
}

/** What is missing on the node as its account stands. Where more is used than offered, that is missing too. */
export const missingOn = ({ allocatable, used }: OccupiedNode, wanted: Amount): Amount =>
  beyond(wanted, subtractAmounts(allocatable, used));

const weightOf = (evicted: readonly Occupant[], preemptor: Preemptor): number =>
  evicted.reduce((sum, one) => sum + victimWeight(obeysLimit(one, preemptor)), 0);

const lessen = (missing: Amount, { amount }: Occupant): Amount => beyond(missing, amount);

/**
 * Those that have a port that is asked for: without them nothing helps. Undefined if one may not be asked to leave.
 * One that leaves already is not among them: its port comes free with it.
 */
function portHolders(
  node: OccupiedNode,
  preemptor: Preemptor,
  disruptionsLeft: (workload: string) => number,
): readonly Occupant[] | undefined {
  const holders = new Set<Occupant>();
  const disrupted = new Map<string, number>();
  for (const port of preemptor.ports) {
    const owner = node.portOwners[port];
    if (owner === undefined) continue;
    const has = ({ replica }: Occupant): boolean => replica.uid === owner;
    const goes = node.leaving.find(has);
    if (goes !== undefined && isBelow(goes, preemptor)) continue;
    const holder = node.running.find(has);
    if (holder === undefined || !isBelow(holder, preemptor)) return undefined;
    if (holders.has(holder)) continue;
    holders.add(holder);
    if (!obeysLimit(holder, preemptor)) continue;
    const count = (disrupted.get(holder.workload) ?? 0) + 1;
    if (count > disruptionsLeft(holder.workload)) return undefined;
    disrupted.set(holder.workload, count);
  }
  return [...holders];
}

/** Of those that leave anyway, the ones without which it would not fit. */
function neededOf(
  leaving: readonly Occupant[],
  evicted: readonly Occupant[],
  missing: Amount,
  { ports }: Preemptor,
  { portOwners }: OccupiedNode,
): readonly Occupant[] {
  const owners = new Set(ports.map((port) => portOwners[port]));
  let kept = leaving;
  for (const one of leaving) {
    const others = kept.filter((other) => other !== one);
    const isCovered = [...eachResource([...evicted, ...others].reduce(lessen, missing))].every(
      ([, count]) => count <= 0,
    );
    if (isCovered && !owners.has(one.replica.uid)) kept = others;
  }
  return kept;
}

/** An amount as shares of what a node offers, added up. */
function shareOf(amount: Amount, offered: Amount): number {
  let sum = 0;
  for (const [resource, count] of eachResource(amount)) {
    const most = countOf(offered, resource) ?? 0;
    if (count > 0 && most > 0) sum += count / most;
  }
  return sum;
}

const excessOf = (evicted: readonly Occupant[], missing: Amount, offered: Amount): number =>
  evicted.reduce((sum, { amount }) => sum + shareOf(amount, offered), 0) - shareOf(missing, offered);

/**
 * A lower bound of the harm on a node (rank and evictions), found in one pass; undefined if no victims there can make
 * room. What is asked of every node, so that few are looked at closely: it counts a workload that may be disrupted at
 * all as if it could be without end.
 */
export function leastHarm(
  node: OccupiedNode,
  preemptor: Preemptor,
  disruptionsLeft: (workload: string) => number,
): Pick<Harm, 'rank' | 'evictions'> | undefined {
  const { amount, rank: own, workload } = preemptor;
  const { cpuMilli: cpuWanted = 0, memoryBytes: memoryWanted = 0, devices } = amount;
  const { allocatable, used, running } = node;
  let cpu = cpuWanted === 0 ? 0 : Math.max(0, cpuWanted - (allocatable.cpuMilli ?? 0) + (used.cpuMilli ?? 0));
  let memory =
    memoryWanted === 0
      ? 0
      : Math.max(0, memoryWanted - (allocatable.memoryBytes ?? 0) + (used.memoryBytes ?? 0));
  // Most work asks for no devices and for no port by number.
  let more = devices === undefined ? undefined : beyond({ devices }, subtractAmounts(allocatable, used));
  for (const occupant of node.leaving) {
    if (!isBelow(occupant, preemptor)) continue;
    cpu -= occupant.amount.cpuMilli ?? 0;
    memory -= occupant.amount.memoryBytes ?? 0;
    if (more !== undefined) more = lessen(more, occupant);
  }
  const all = node.steps.findLast(({ rank }) => rank < own);
  if (cpu > (all?.cpuMilli ?? 0) || memory > (all?.memoryBytes ?? 0)) return undefined;
  const holder = preemptor.ports.length === 0 ? noRank : highestHolder(node, preemptor);
  if (holder === undefined) return undefined;
  const evictions = holder === noRank ? 0 : 1;
  if (cpu <= 0 && memory <= 0 && !hasSome(more)) return { rank: holder, evictions };
  const cpuMissing = cpu;
  const memoryMissing = memory;
  let cpuMost = 0;
  let memoryMost = 0;
  let covering = Number.POSITIVE_INFINITY;
  for (const occupant of running) {
    if (occupant.rank >= own || occupant.rank > covering) break;
    if (occupant.workload === workload) continue;
    if (obeysLimit(occupant, preemptor) && disruptionsLeft(occupant.workload) <= 0) continue;
    const { cpuMilli = 0, memoryBytes = 0 } = occupant.amount;
    if (cpuMilli > cpuMost) cpuMost = cpuMilli;
    if (memoryBytes > memoryMost) memoryMost = memoryBytes;
    if (covering !== Number.POSITIVE_INFINITY) continue;
    cpu -= cpuMilli;
    memory -= memoryBytes;
    if (more !== undefined) more = lessen(more, occupant);
    if (cpu <= 0 && memory <= 0 && !hasSome(more)) covering = occupant.rank;
  }
  if (covering === Number.POSITIVE_INFINITY) return undefined;
  // With a port's holder above that rank, more may be taken up to the holder's: the count then says less.
  if (holder > covering) return { rank: holder, evictions };
  return {
    rank: covering,
    evictions: Math.max(
      1,
      cpuMissing > 0 ? Math.ceil(cpuMissing / cpuMost) : 0,
      memoryMissing > 0 ? Math.ceil(memoryMissing / memoryMost) : 0,
    ),
  };
}

/** The highest rank among those that have a port that is asked for; undefined if one of them may not be a victim. */
function highestHolder(node: OccupiedNode, preemptor: Preemptor): number | undefined {
  let rank = noRank;
  for (const port of preemptor.ports) {
    const owner = node.portOwners[port];
    if (owner === undefined || node.leaving.some(({ replica }) => replica.uid === owner)) continue;
    const holder = node.running.find(({ replica }) => replica.uid === owner);
    if (holder === undefined || !isBelow(holder, preemptor)) return undefined;
    rank = Math.max(rank, holder.rank);
  }
  return rank;
}

function hasSome(amount: Amount | undefined): boolean {
  if (amount?.devices === undefined) return false;
  for (const count of Object.values(amount.devices)) if (count > 0) return true;
  return false;
}
