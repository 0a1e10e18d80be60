import type { Scenario } from './scenario.js';
import { planOf, runSeed } from './run-seed.js';
import type { FaultPlan } from './world/fault-plan.js';

/** A failing seed with as few faults as still make it fail. */
export interface Shrunk {
  readonly plan: FaultPlan;
  readonly rule: string;
  readonly message: string;
  readonly runs: number;
}

/**
 * Takes away faults one at a time for as long as the same rule is still found broken. What is left is not the
 * smallest plan there is, but nothing of it can be left out.
 */
export async function shrink(
  scenario: Scenario,
  seed: number,
  onTry?: (faults: number) => void,
): Promise<Shrunk | undefined> {
  let runs = 0;
  const breaks = async (plan: FaultPlan): Promise<{ rule: string; message: string } | undefined> => {
    runs += 1;
    onTry?.(plan.events.length + Object.keys(plan.rates).length);
    const [first] = (await runSeed(scenario, { seed, plan })).violations;
    return first;
  };
  let plan = planOf(scenario, seed);
  let broken = await breaks(plan);
  if (broken === undefined) return undefined;
  for (let isSmaller = true; isSmaller;) {
    isSmaller = false;
    for (const smaller of smallerPlans(plan)) {
      const still = await breaks(smaller);
      if (still?.rule !== broken.rule) continue;
      plan = smaller;
      broken = still;
      isSmaller = true;
      break;
    }
  }
  return { plan, ...broken, runs };
}

/** Each plan with one fault less. */
function* smallerPlans({ rates, events }: FaultPlan): Generator<FaultPlan> {
  for (const index of events.keys()) yield { rates, events: events.toSpliced(index, 1) };
  for (const kind of Object.keys(rates) as (keyof FaultPlan['rates'])[]) {
    const { [kind]: _, ...rest } = rates;
    yield { rates: rest, events };
  }
}
