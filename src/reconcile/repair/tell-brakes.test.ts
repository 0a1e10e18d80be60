import { describe, expect, it } from 'vitest';
import { objectOf } from '../../model/fake-objects.fixture.js';
import type { Region } from '../../model/kinds/region.js';
import type { Brake } from '../../observe/brakes.js';
import { brakeRemark } from './tell-brakes.js';

const region = (...conditions: object[]): Region =>
  objectOf('Region', undefined, 'eu-central', { status: { conditions } }) as unknown as Region;
const brake = (more: Partial<Brake>): Brake => ({
  ...{ state: 'Stop', scope: 'Zone', name: 'eu-central/a', silent: 5, all: 5 },
  ...more,
});
const braked = { type: 'Braked', status: 'True', reason: 'ZoneStopEuCentralA', message: '' };

describe('what is said on a region of its brakes', () => {
  it('names those that are on there, once', () => {
    expect(brakeRemark(region(), [brake({}), brake({ name: 'us/a' })])).toMatchObject({
      about: { kind: 'Region', region: 'eu-central' },
      set: [{ type: 'Braked', reason: 'ZoneStopEuCentralA' }],
    });
    expect(brakeRemark(region(braked), [brake({ silent: 4 })])).toBeUndefined();
    expect(brakeRemark(region(braked), [brake({ state: 'Slow' })])).toMatchObject({
      set: [{ reason: 'ZoneSlowEuCentralA' }],
    });
  });

  it('is said of the cell everywhere, and ends when all are off', () => {
    expect(brakeRemark(region(), [brake({ scope: 'Cell', name: '' })])).toMatchObject({
      set: [{ reason: 'CellStop' }],
    });
    expect(brakeRemark(region(braked), [])).toMatchObject({ set: [], clear: ['Braked'] });
    expect(brakeRemark(region(), [brake({ name: 'us/a' })])).toBeUndefined();
  });
});
