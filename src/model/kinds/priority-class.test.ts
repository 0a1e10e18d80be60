import { describe, expect, it } from 'vitest';
import { example } from '../example.fixture.js';
import { Validator } from '../validate.js';
import { priorityClass } from './priority-class.js';

const validator = new Validator();
const errorsOf = (spec: object): string[] =>
  validator
    .validate(priorityClass, priorityClass.withDefaults(example(priorityClass, { spec }, 'critical')))
    .map((error) => `${error.path} ${error.reason}`);

describe('a PriorityClass', () => {
  it('can say all that the design has it say', () => {
    expect(errorsOf({ value: 1_000, preemption: 'Allowed', recoveryPools: true })).toEqual([]);
    expect(errorsOf({ value: -5 })).toEqual([]);
  });

  it('may preempt but not use recovery pools where it does not say', () => {
    expect(priorityClass.withDefaults(example(priorityClass, { spec: { value: 0 } })).spec).toEqual({
      value: 0,
      preemption: 'Allowed',
      recoveryPools: false,
    });
  });

  it('must say its value, as a whole number', () => {
    expect(errorsOf({})).toEqual(['spec.value Required']);
    expect(errorsOf({ value: 0.5 })).toEqual(['spec.value Invalid']);
    expect(errorsOf({ value: 2_000_000_000 })).toEqual(['spec.value Invalid']);
  });
});
