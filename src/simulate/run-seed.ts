import type { CheckName } from '../commit/checks.js';
import { SeededRandom } from '../env/random.js';
import type { LivenessRule } from './checkers/checker.js';
import type { LivenessFacts } from './checkers/liveness-facts.js';
import { livenessChecks } from './checkers/liveness.js';
import type { Scenario, SeedResult } from './scenario.js';
import { type FaultPlan, planFaults } from './world/fault-plan.js';
import { World } from './world/world.js';

export interface SeedOptions {
  readonly seed: number;
  readonly mutant?: CheckName;
  /** Instead of what the seed would let go wrong. */
  readonly plan?: FaultPlan;
  readonly trace?: (line: string) => void;
  /** Only safety is of interest: the run ends with the faults. */
  readonly isSafetyOnly?: boolean;
}

const quietMs = 40_000;
// [L8] Transactions that one process may attempt in a second on average, retries and renewals included.
const attemptsPerSecond = 40;
const windowMs = 10_000;
const processesGuessed = 12;

/** What a seed lets go wrong in a scenario. */
export const planOf = (scenario: Scenario, seed: number): FaultPlan =>
  planFaults(new SeededRandom(`faults ${scenario.name} ${seed}`), processesGuessed, scenario.chaosMs);

/** Runs one seed of a scenario: faults, then calm, then quiet. Stops at the first thing that is not as it must be. */
export async function runSeed(scenario: Scenario, options: SeedOptions): Promise<SeedResult> {
  const { seed, mutant, trace } = options;
  const plan = options.plan ?? planOf(scenario, seed);
  const world = new World({
    seed,
    plan,
    ...(mutant !== undefined && { mutant }),
    ...(trace !== undefined && { trace }),
  });
  const assertEnd = scenario.begin(world);
  for (const process of world.processes) process.start();
  world.scheduleFaults();
  await world.run(scenario.chaosMs);
  world.checkWhole();
  const checked = new Map<string, number>();
  const messages: string[] = [];
  if (options.isSafetyOnly !== true && !world.isBroken) {
    world.calm();
    await world.run(scenario.chaosMs + scenario.settleMs);
    const quietFrom = world.commits.length;
    await world.run(scenario.chaosMs + scenario.settleMs + quietMs);
    world.checkWhole();
    if (!world.isBroken) {
      const facts: LivenessFacts = {
        rejectedBinds: [...world.rejectedBinds.values()],
        windows: windowsOf(world),
        quietCommits: world.commits.slice(quietFrom),
      };
      for (const [rule, check] of Object.entries(livenessChecks) as [
        LivenessRule,
        (typeof livenessChecks)[LivenessRule],
      ][]) {
        const result = check(world.history, facts);
        checked.set(rule, result.checked);
        world.report(result.violations);
      }
      messages.push(...assertEnd());
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
