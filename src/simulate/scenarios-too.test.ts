import { describe, it } from 'vitest';
import { expectSeeds, seedsOf, smallScenarios } from './expect-seeds.fixture.js';

describe('seeds of every small scenario, the other half', () => {
  it.each(smallScenarios(1))(
    '$name: $about',
    (scenario) => expectSeeds(scenario, seedsOf(scenario)),
    180_000,
  );
});
