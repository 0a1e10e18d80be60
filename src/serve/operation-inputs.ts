import type { ForwardedOperation } from '../commit/forwarding-authority.js';
import { BerthError } from '../model/errors.js';

type Shape = 'text' | 'number' | 'flag' | 'fields' | 'actor' | 'replica' | 'epoch' | 'proof';

/** What an input must have. The authority judges everything else; who may send it is a server of this cell. */
const required: Readonly<Record<ForwardedOperation, Readonly<Record<string, Shape>>>> = {
  register: {
    ...{ node: 'text', capacity: 'fields', allocatable: 'fields', agent: 'fields' },
    ...{ leaseSeconds: 'number', operation: 'text' },
  },
  incarnate: {
    ...{ actor: 'actor', tenant: 'text', workload: 'text', workloadUid: 'text', slot: 'text' },
    ...{ incarnation: 'number', revision: 'text', stage: 'text', reason: 'text', operation: 'text' },
  },
  reserve: {
    ...{ actor: 'actor', replica: 'replica', node: 'text', nodeEpoch: 'epoch', snapshotRevision: 'text' },
    ...{ policyRevision: 'text', intent: 'text', deadlineSeconds: 'number', operation: 'text' },
  },
  bind: {
    ...{ actor: 'actor', replica: 'replica', node: 'text', nodeEpoch: 'epoch', snapshotRevision: 'text' },
    ...{ policyRevision: 'text', operation: 'text' },
  },
  report: {
    ...{ node: 'text', nodeEpoch: 'epoch', replica: 'replica', fence: 'text' },
    ...{ stage: 'text', reason: 'text', operation: 'text' },
  },
  evict: { actor: 'actor', replica: 'replica', reason: 'text', operation: 'text' },
  release: { actor: 'actor', replica: 'replica', proof: 'proof', reason: 'text', operation: 'text' },
  releaseHold: {
    ...{ actor: 'actor', tenant: 'text', reservation: 'text', uid: 'text' },
    ...{ as: 'text', reason: 'text', operation: 'text' },
  },
  gate: {
    ...{ actor: 'actor', node: 'text', nodeEpoch: 'epoch' },
    ...{ reachability: 'text', reason: 'text', operation: 'text' },
  },
  grant: { actor: 'actor', tenant: 'text', operation: 'text' },
  moveGang: { actor: 'actor', tenant: 'text', gang: 'text', uid: 'text', to: 'text', operation: 'text' },
  forget: { actor: 'actor', replica: 'replica', dropSlot: 'flag', operation: 'text' },
};

const parts: Partial<Record<Shape, Readonly<Record<string, Shape>>>> = {
  fields: {},
  actor: { kind: 'text', name: 'text' },
  replica: { tenant: 'text', name: 'text', uid: 'text' },
  epoch: { cell: 'number', number: 'number' },
  proof: { kind: 'text' },
};
const types: Partial<Record<Shape, string>> = { text: 'string', number: 'number', flag: 'boolean' };
const proposalsMax = 10_000;

/** Refuses an input that its operation could not even look at, naming the field. */
export function checkOperationInput(operation: ForwardedOperation, input: unknown): void {
  const wrong = (problem: string): BerthError => new BerthError('BadRequest', `${operation}: ${problem}`);
  if (operation !== 'bind') {
    const problem = wrongFields('', required[operation], input);
    if (problem !== undefined) throw wrong(problem);
    return;
  }
  if (!Array.isArray(input) || input.length > proposalsMax)
    throw wrong(`must be a list of at most ${proposalsMax} proposals`);
  for (const [index, proposal] of input.entries()) {
    const problem = wrongFields(`[${index}]`, required.bind, proposal);
    if (problem !== undefined) throw wrong(problem);
  }
}

/** What is wrong with the fields of a value; undefined if nothing is. */
export function wrongFields(
  path: string,
  fields: Readonly<Record<string, Shape>>,
  value: unknown,
): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return `${path === '' ? 'the input' : path}: must be an object`;
  for (const [name, shape] of Object.entries(fields)) {
    const field = (value as Readonly<Record<string, unknown>>)[name];
    const at = path === '' ? name : `${path}.${name}`;
    if (field === undefined) return `${at}: required`;
    const type = types[shape];
    if (type !== undefined && typeof field !== type) return `${at}: must be a ${type}`;
    const inner = parts[shape];
    const problem = inner === undefined ? undefined : wrongFields(at, inner, field);
    if (problem !== undefined) return problem;
  }
  return undefined;
}
