import { describe, expect, it } from 'vitest';
import { example } from '../example.fixture.js';
import { Validator } from '../validate.js';
import { reservation } from './reservation.js';

const validator = new Validator();
const spec = {
  owner: { kind: 'Replica', name: 'api-0-1', uid: 'uid-1' },
  intent: 'Preemption',
  node: 'node-a',
  amounts: { cpu: '2' },
  deadlineSeconds: 30,
  victims: ['low-0-1'],
};

describe('a Reservation', () => {
  it('says what is posted now and what it awaits of its victims', () => {
    const status = {
      state: 'Held',
      now: { cpu: '1' },
      awaits: [{ replica: 'low-0-1', uid: 'uid-2', amounts: { cpu: '1' } }],
    };
    expect(validator.validate(reservation, example(reservation, { spec, status }))).toEqual([]);
  });

  it('[L7] cannot be without an owner, an intent or a deadline', () => {
    const { node, amounts } = spec;
    const errors = validator.validate(reservation, example(reservation, { spec: { node, amounts } }));
    expect(errors.map((error) => error.path)).toEqual(['spec.owner', 'spec.intent', 'spec.deadlineSeconds']);
  });
});
