import { describe, expect, it } from 'vitest';
import { forwardedOperations } from '../commit/forwarding-authority.js';
import { operationTable } from '../model/operations.js';
import { checkOperationInput } from './operation-inputs.js';

const replica = { tenant: 't', name: 'r', uid: 'u' };
const actor = { kind: 'workload-controller', name: 'x' };
const text = 'text';
/** Every field that an operation may ask for. */
const everyField: Readonly<Record<string, unknown>> = {
  ...{ actor, replica, proof: { kind: 'Attested' }, nodeEpoch: { cell: 1, number: 1 }, fence: text },
  ...{ node: text, tenant: text, workload: text, workloadUid: text, slot: text, revision: text, stage: text },
  ...{ reservation: text, gang: text, uid: text, as: text, to: text, intent: text, reachability: text },
  ...{ snapshotRevision: text, policyRevision: text, reason: text, operation: text, dropSlot: true },
  ...{ capacity: {}, allocatable: {}, agent: {}, leaseSeconds: 40, incarnation: 1, deadlineSeconds: 1 },
};
const fieldOfEpoch = {
  ...{ actor: 'actor', node: 'nodeEpoch', open: 'nodeEpoch', fence: 'fence', journal: 'proof' },
} as const;
const epochFields = forwardedOperations.flatMap((operation) =>
  Object.keys(operationTable[operation].epochs).map(
    (epoch) => [operation, fieldOfEpoch[epoch as keyof typeof fieldOfEpoch]] as const,
  ),
);
const forget = { actor, replica, dropSlot: true, operation: 'o' };

describe('the input of an operation', () => {
  it('passes if it has what the operation looks at, whatever else it has', () => {
    expect(() => checkOperationInput('forget', { ...forget, later: 1 })).not.toThrow();
    expect(() => checkOperationInput('bind', [])).not.toThrow();
  });

  it.each(epochFields)('[S8] of %s names %s, under which it acts', (operation, field) => {
    const [whole, { [field]: _, ...without }] = [everyField, everyField];
    const input = (one: object): unknown => (operation === 'bind' ? [one] : one);
    expect(() => checkOperationInput(operation, input(whole))).not.toThrow();
    expect(() => checkOperationInput(operation, input(without))).toThrow(`${field}: required`);
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
