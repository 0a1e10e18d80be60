import { SeededRandom } from '../env/random.js';
import type { Replica } from '../model/kinds/replica.js';
import type { Stage } from '../model/stages.js';
import type { LivenessRule } from './checkers/checker.js';
import type { LivenessFacts } from './checkers/liveness-facts.js';
import { livenessChecks } from './checkers/liveness.js';
import type { Mutant } from './mutant.js';
import type { Scenario, SeedResult } from './scenario.js';
import { type FaultPlan, planFaults } from './world/fault-plan.js';
import { World } from './world/world.js';

export interface SeedOptions {
  readonly seed: number;
  readonly mutant?: Mutant;
  /** Instead of what the seed would let go wrong. */
  readonly plan?: FaultPlan;
  /** Told every event of the world and every commit, as lines. */
  readonly trace?: (line: string) => void;
  /** Only safety is of interest: the run ends with the faults. */
  readonly isSafetyOnly?: boolean;
  /** Only violations with such a message are of interest: the run goes on after any other. */
  readonly shows?: RegExp;
}

const quietMs = 30_000;
// What is over is deleted after a minute; before that nothing can be called quiet.
const settleMsMin = 70_000;
const stillMs = 15_000;
// [L8] Transactions that one process may attempt in a second on average, retries and renewals included.
const attemptsPerSecond = 40;
const windowMs = 10_000;
const processesGuessed = 12;

/** What a seed lets go wrong in a scenario. */
export function planOf(scenario: Scenario, seed: number): FaultPlan {
  const usual = planFaults(
    new SeededRandom(`faults ${scenario.name} ${seed}`),
    processesGuessed,
    scenario.chaosMs,
  );
  return scenario.plan?.(usual, seed) ?? usual;
}

/** Runs one seed of a scenario: faults, then calm, then quiet. Stops at the first thing that is not as it must be. */
export async function runSeed(scenario: Scenario, options: SeedOptions): Promise<SeedResult> {
  const { seed, mutant, trace, shows } = options;
  const plan = options.plan ?? planOf(scenario, seed);
  const world = new World({
    seed,
    plan,
    ...(mutant !== undefined && { mutant }),
    ...(shows !== undefined && { shows }),
    ...(trace !== undefined && { trace, onCommit: trace }),
  });
  const assertEnd = scenario.begin(world);
  for (const member of world.processes) member.start();
  world.scheduleFaults(scenario.chaosMs);
  await world.run(scenario.chaosMs);
  world.checkWhole();
  const checked = new Map<string, number>();
  const messages: string[] = [];
  if (options.isSafetyOnly !== true && !world.isBroken) {
    world.calm();
    await settle(world, scenario);
    const settledAtMs = world.time.nowMs;
    const quietFrom = world.commits.length;
    await world.run(settledAtMs + quietMs);
    world.checkWhole();
    if (!world.isBroken) {
      const facts: LivenessFacts = {
        rejectedBinds: [...world.rejectedBinds.values()],
        windows: windowsOf(world),
        commits: world.commits,
        endMs: world.time.nowMs,
        upNodes: [...world.agents.keys()],
        quietCommits: world.commits.slice(quietFrom),
        actsAt: (revision) => world.acts.at(revision),
      };
      for (const [rule, check] of Object.entries(livenessChecks) as [
        LivenessRule,
        (typeof livenessChecks)[LivenessRule],
      ][]) {
        const result = check(world.history, facts);
        checked.set(rule, result.checked);
        world.report(result.violations);
      }
      messages.push(...assertEnd().filter((message) => shows?.test(message) !== false));
    }
  }
  for (const [rule, count] of world.checked) checked.set(rule, count);
  const at = world.history.revision;
  return {
    scenario: scenario.name,
    seed,
    virtualMs: world.time.nowMs,
    transactions: world.attempts.length,
    commits: world.commits.length,
    refused: world.refused,
    stale: Object.fromEntries(world.stale.refused),
    history: world.digest,
    faults: Object.fromEntries(world.faults.counts),
    checked: Object.fromEntries(checked),
    violations: [
      ...world.violations,
      ...(world.failure === undefined
        ? []
        : [{ rule: 'crash' as const, revision: at, message: world.failure.stack ?? world.failure.message }]),
      ...messages.map((message) => ({ rule: 'scenario' as const, revision: at, message })),
    ],
  };
}

/** Lets the cell come to rest: until nothing but renewals was written for a while, or its time is over. */
async function settle(world: World, { chaosMs, settleMs }: Scenario): Promise<void> {
  for (let untilMs = chaosMs + settleMsMin; untilMs <= chaosMs + settleMs; untilMs += stillMs) {
    await world.run(untilMs);
    const last = world.commits.findLast(({ changes }) => changes.some(({ key }) => !key.startsWith('/l/')));
    if (world.isBroken || (!isPending(world) && (last?.atMs ?? 0) < untilMs - stillMs)) return;
  }
}

/**
 * Whether the cell will still write something when a duration ends: an ended hold is deleted, a brake is eased, a fence
 * expires, a replica that is on its way reaches its deadline.
 */
function isPending({ history }: World): boolean {
  const isAny = (prefix: string, isSo: (value: unknown) => boolean): boolean =>
    [...history.under(prefix)].some(([, value]) => isSo(value));
  return (
    isAny('/s/Reservation/', (value) => !JSON.stringify(value).includes('"Held"')) ||
    isAny('/s/Region/', (value) => JSON.stringify(value).includes('"Braked"')) ||
    isAny('/s/Replica/', hasDeadline)
  );
}

const onTheWay: readonly (Stage | undefined)[] = ['Scheduled', 'Bound', 'Starting', 'Releasing'];

/** Whether a deadline of a replica is being counted. The deadlines of an Unknown replica are over once it has NeedsHuman. */
function hasDeadline(value: unknown): boolean {
  const { stage, conditions = [] } = (value as Pick<Replica, 'status'>).status ?? {};
  if (stage === 'Unknown')
    return !conditions.some(({ type, status }) => type === 'NeedsHuman' && status === 'True');
  return onTheWay.includes(stage);
}

function windowsOf(world: World): LivenessFacts['windows'] {
  const windows: LivenessFacts['windows'][number][] = [];
  const budget = (world.processes.length * attemptsPerSecond * windowMs) / 1_000;
  for (let fromMs = 0; fromMs < world.time.nowMs; fromMs += windowMs) {
    const toMs = fromMs + windowMs;
    const attempted = world.attempts.filter((atMs) => atMs >= fromMs && atMs < toMs).length;
    windows.push({ fromMs, toMs, attempted, budget });
  }
  return windows;
}
