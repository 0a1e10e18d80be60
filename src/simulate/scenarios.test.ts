import { describe, it } from 'vitest';
import { expectSeeds, smallScenarios } from './expect-seeds.fixture.js';

describe('18 seeds of every small scenario, one half', () => {
  it.each(smallScenarios(0))('$name: $about', (scenario) => expectSeeds(scenario, 18), 180_000);
});
