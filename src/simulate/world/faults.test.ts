import { describe, expect, it } from 'vitest';
import { SeededRandom } from '../../env/random.js';
import { planOf } from '../run-seed.js';
import { scenarios } from '../scenarios/all.js';
import { noFaults, planFaults } from './fault-plan.js';
import { Faults } from './faults.js';

const always = { chance: (probability: number): boolean => probability > 0 };

describe('faults', () => {
  it('a server is wrong about the number of shards only where the plan says so, and it is counted', () => {
    const usual = planFaults(new SeededRandom('usual'), 6, 40_000);
    const faults = new Faults(usual);
    expect(faults.strikes('shards.mistaken', always)).toBe(true);
    expect(faults.counts.get('shards.mistaken')).toBe(1);
    expect(new Faults(noFaults).strikes('shards.mistaken', always)).toBe(false);
    faults.stop();
    expect(faults.strikes('shards.mistaken', always)).toBe(false);
  });

  it.each(['000-partial-recovery', '001-conservative-binding', '001-fail-open', 'zone-silent'])(
    '%s, which needs its work placed while faults go on, leaves it to nobody',
    (name) => {
      const scenario = scenarios.find((one) => one.name === name);
      expect(scenario && planOf(scenario, 23).rates['shards.mistaken']).toBeOneOf([0, undefined]);
      expect(scenario).toBeDefined();
    },
  );
});
