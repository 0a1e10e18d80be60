import { describe, expect, it } from 'vitest';
import { example } from '../example.fixture.js';
import { Validator } from '../validate.js';
import { region } from './region.js';

const validator = new Validator();

describe('a Region', () => {
  it('has a jurisdiction, zones, and a latency to others', () => {
    const spec = { jurisdiction: 'EU', zones: ['a', 'b'], latencyMs: { 'us-east': 90 } };
    expect(validator.validate(region, example(region, { spec }, 'eu-central'))).toEqual([]);
  });

  it('names others by names that regions can have', () => {
    expect(validator.validate(region, example(region, { spec: { latencyMs: { US: 90 } } }))).toMatchObject([
      { path: 'spec.latencyMs', value: 'US', reason: 'Invalid' },
    ]);
  });

  it('shows its zones', () => {
    const value = region.columns.find((column) => column.name === 'Zones')?.value;
    expect(typeof value === 'function' && value(example(region, { spec: { zones: ['a', 'b'] } }))).toBe(
      'a,b',
    );
  });
});
