import { setImmediate as nextTurn } from 'node:timers/promises';
import { VirtualTime } from '../src/env/virtual.js';
import { isBerthError } from '../src/model/errors.js';
import { FaultyStore } from '../src/simulate/faulty-store.js';
import { runScenario } from '../src/simulate/run-scenario.js';
import type { Scenario } from '../src/simulate/scenario.js';
import { drainRace } from '../src/simulate/scenarios/drain-race.js';
import { swarm } from '../src/simulate/scenarios/swarm.js';
import { MemoryStore } from '../src/store/memory.js';
import type { Bench, Figure } from './measure.js';

const clients = 50;
const virtualMs = 60_000;
const seeds = [1, 2, 3];

export const simulateBench: Bench = {
  name: 'simulate',
  title: `virtual world: ${clients} clients of a faulty store for ${virtualMs / 1000} virtual seconds`,
  async run(print) {
    const turns = 200_000;
    const turnsAt = performance.now();
    for (let turn = 0; turn < turns; turn++) await nextTurn();
    const turnsPerSecond = turns / ((performance.now() - turnsAt) / 1000);

    const world = new VirtualTime({ seed: 1 });
    const store = new MemoryStore(world.machine('store').env);
    let transactions = 0;
    for (let client = 0; client < clients; client++) {
      const machine = world.machine(`client-${client}`);
      const view = new FaultyStore(store, machine.env, {
        ...{ latencyMsMax: 5, timeoutMs: 500, unavailable: 0.01, watchCut: 0 },
        ...{ requestLost: 0.01, requestLate: 0.01, replyLost: 0.01 },
      });
      world.spawn(machine, `client ${client}`, async (env) => {
        for (let round = 0; ; round++) {
          const writes = [{ kind: 'put', key: `/${client}/${round % 10}`, value: Buffer.from('x') }] as const;
          await view.transact({ guards: [], writes }).catch((error: unknown) => {
            if (!isBerthError(error, 'StoreUnavailable')) throw error;
          });
          transactions += 1;
          await env.sleep(1);
        }
      });
    }
    const startedAt = performance.now();
    const end = await world.run(virtualMs);
    const realSeconds = (performance.now() - startedAt) / 1000;
    print({
      name: 'events',
      value: end.events / realSeconds,
      unit: '/s',
      limit: { value: turnsPerSecond, what: 'turns of the event loop' },
    });
    print({ name: 'transactions', value: transactions / realSeconds, unit: '/s' });
    print({ name: 'virtual seconds per real second', value: virtualMs / 1000 / realSeconds, unit: '' });
    for (const scenario of [drainRace, swarm]) await cellFigures(scenario, print);
  },
};

/** How fast whole cells are run, with their faults and checkers. */
async function cellFigures(scenario: Scenario, print: (figure: Figure) => void): Promise<void> {
  const startedAt = performance.now();
  const report = await runScenario(scenario, seeds, { mayMiss: true });
  if (report.failed.length > 0)
    throw new Error(`${scenario.name} fails: ${JSON.stringify(report.failed[0]?.violations[0])}`);
  const realSeconds = (performance.now() - startedAt) / 1_000;
  const name = `scenario ${scenario.name}`;
  print({
    name: `${name}: virtual seconds per real second`,
    value: report.virtualMs / 1_000 / realSeconds,
    unit: '',
  });
  print({ name: `${name}: seeds`, value: (60 * seeds.length) / realSeconds, unit: '/min' });
  print({ name: `${name}: commits`, value: report.commits / realSeconds, unit: '/s' });
}
