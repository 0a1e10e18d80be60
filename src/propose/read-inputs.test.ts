import { describe, expect, it } from 'vitest';
import { builtinPolicy } from '../model/policy.js';
import { TestPicture } from './cell.fixture.js';
import { propose } from './propose.js';
import { readInputs } from './read-inputs.js';
import { replayDecision } from './replay-decision.js';

/** The inputs of a decision as a file has them. */
function written(): Readonly<Record<string, unknown>> {
  const picture = new TestPicture();
  picture.node('n1');
  const classKey = picture.workload('score', { cpu: '2' });
  const options = { policy: builtinPolicy, seed: 7, ages: () => 5 };
  const { decision } = propose(picture.cell, { classKey, replicas: picture.pending('score', 1) }, options);
  return JSON.parse(JSON.stringify(decision.inputs)) as Readonly<Record<string, unknown>>;
}

describe('the inputs of a decision', () => {
  it('are taken as they were written', () => {
    const inputs = written();
    expect(readInputs(inputs)).toEqual(inputs);
  });

  it.each([
    ['form', 2, '.form is 2; allowed is 1, the only form that this version can run again'],
    ['classKey', 'score', '.classKey is "score"; allowed is TENANT/REVISION'],
    ['version', undefined, '.version is missing; allowed is a resourceVersion'],
    ['seed', '7', '.seed is "7"; allowed is a number'],
    ['policy', {}, '.policy is {}; allowed is a policy: strategy, and a weight for each score'],
    ['replicas', [{}], '.replicas is [{}]; allowed is a list of replicas, each with tenant, name, uid,'],
    [
      'around',
      {},
      '.around is {}; allowed is what is around the class: own, affinity, antiAffinity and failures',
    ],
    ['agesMs', { n1: 'old' }, '.agesMs is {"n1":"old"}; allowed is milliseconds by node'],
    ['records', undefined, '.records is missing; allowed is a list of records, each a key and what it has'],
    ['records', [['/a/node/n1', 5]], '.records is [["/a/node/n1",5]]; allowed is a list of records'],
    [
      'plugins',
      ['./p.mjs'],
      '.plugins is ["./p.mjs"]; allowed is a list of modules, each with source and digest',
    ],
  ])('are refused with the field and what it may be: %s', (field, value, message) => {
    expect(() => readInputs({ ...written(), [field]: value })).toThrow(`spec.inputs${message}`);
  });

  it('that are none are refused', () => {
    expect(() => readInputs(undefined)).toThrow('spec.inputs is missing; allowed is an object');
  });

  it('name the record that is none of its kind', () => {
    const inputs = { ...written(), records: [['/a/node/n1', {}]] };
    expect(() => replayDecision({ inputs })).toThrow(
      'spec.inputs.records: what /a/node/n1 has is no such record',
    );
  });
});
