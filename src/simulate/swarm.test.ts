import { describe, it } from 'vitest';
import { expectSeeds, largeScenarios } from './expect-seeds.fixture.js';

describe('10 seeds of the large worlds', () => {
  it.each(largeScenarios)('$name: $about', (scenario) => expectSeeds(scenario, 10), 240_000);
});
