import { expect, it } from 'vitest';
import { example } from '../example.fixture.js';
import { Validator } from '../validate.js';
import { gang } from './gang.js';

it('a Gang never needs more members than it has', () => {
  const validator = new Validator();
  const spec = { workload: 'fraud-batch', minAvailable: 3, members: 3 };
  expect(validator.validate(gang, example(gang, { spec, status: { state: 'Reserving', holds: 2 } }))).toEqual(
    [],
  );
  expect(validator.validate(gang, example(gang, { spec: { ...spec, members: 2 } }))).toMatchObject([
    { path: 'spec.minAvailable', value: 3, message: 'must be at most members, which is 2' },
  ]);
});
