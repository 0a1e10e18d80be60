import { describe, it } from 'vitest';
import { expectSeeds, seedsOf, smallScenarios } from './expect-seeds.fixture.js';

describe('seeds of every small scenario, one half', () => {
  it.each(smallScenarios(0))(
    '$name: $about',
    (scenario) => expectSeeds(scenario, seedsOf(scenario)),
    180_000,
  );
});
