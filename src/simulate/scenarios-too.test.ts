import { describe, it } from 'vitest';
import { expectSeeds, smallScenarios } from './expect-seeds.fixture.js';

describe('18 seeds of every small scenario, the other half', () => {
  it.each(smallScenarios(1))('$name: $about', (scenario) => expectSeeds(scenario, 18), 180_000);
});
