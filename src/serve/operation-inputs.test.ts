import { describe, expect, it } from 'vitest';
import { checkOperationInput } from './operation-inputs.js';

const replica = { tenant: 't', name: 'r', uid: 'u' };
const actor = { kind: 'workload-controller', name: 'x' };
const forget = { actor, replica, dropSlot: true, operation: 'o' };

describe('the input of an operation', () => {
  it('passes if it has what the operation looks at, whatever else it has', () => {
    expect(() => checkOperationInput('forget', { ...forget, later: 1 })).not.toThrow();
    expect(() => checkOperationInput('bind', [])).not.toThrow();
  });

  it.each([
    ['forget', undefined, 'forget: the input: must be an object'],
    ['forget', [], 'forget: the input: must be an object'],
    ['forget', { ...forget, actor: undefined }, 'forget: actor: required'],
    ['forget', { ...forget, replica: 'r' }, 'forget: replica: must be an object'],
    ['forget', { ...forget, replica: { ...replica, uid: 7 } }, 'forget: replica.uid: must be a string'],
    ['forget', { ...forget, dropSlot: 'yes' }, 'forget: dropSlot: must be a boolean'],
    ['release', { ...forget, reason: 'r' }, 'release: proof: required'],
    ['bind', {}, 'bind: must be a list of at most 10000 proposals'],
    ['bind', [{ actor }], 'bind: [0].replica: required'],
  ] as const)('of %s names the field that is wrong in %j', (operation, input, message) => {
    expect(() => checkOperationInput(operation, input)).toThrow(message);
  });
});
