import { BerthError } from '../model/errors.js';
import { scoreNames } from '../model/policy.js';
import type { DecisionInputs } from './decision-inputs.js';

type Is = (value: unknown) => boolean;
type Fields = Readonly<Record<string, unknown>>;

const isText: Is = (value) => typeof value === 'string';
const isNumber: Is = (value) => typeof value === 'number' && Number.isFinite(value);
const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const listOf =
  (is: Is): Is =>
  (value) =>
    Array.isArray(value) && value.every(is);
const mapOf =
  (is: Is): Is =>
  (value) =>
    isObject(value) && Object.values(value).every(is);
const withFields =
  (fields: Readonly<Record<string, Is>>): Is =>
  (value) =>
    isObject(value) && Object.entries(fields).every(([name, is]) => is(value[name]));

const isCounts = withFields({ zones: mapOf(isNumber), regions: mapOf(isNumber), total: isNumber });
// In JSON a record that was gone is null.
const isRecord: Is = (value) =>
  Array.isArray(value) &&
  isText(value[0]) &&
  (value[1] === undefined || value[1] === null || isObject(value[1]));

/** What each of the inputs must be, and the same in words. */
const allowed: Readonly<Record<keyof DecisionInputs, readonly [is: Is, words: string]>> = {
  form: [(value) => value === 1, '1, the only form that this version can run again'],
  classKey: [(value) => /^[^/]+\/[^/]+$/.test(String(value)), 'TENANT/REVISION'],
  version: [isText, 'a resourceVersion'],
  seed: [isNumber, 'a number'],
  policy: [
    withFields({
      strategy: (value) => value === 'Pack' || value === 'Spread',
      weights: withFields(Object.fromEntries(scoreNames.map((name) => [name, isNumber]))),
    }),
    'a policy: strategy, and a weight for each score',
  ],
  replicas: [
    listOf(
      withFields({
        tenant: isText,
        name: isText,
        uid: isText,
        classKey: isText,
        workload: isText,
        slot: isText,
      }),
    ),
    'a list of replicas, each with tenant, name, uid, classKey, workload and slot',
  ],
  around: [
    withFields({
      ...{ own: isCounts, failures: mapOf(isNumber) },
      ...{ affinity: listOf(isCounts), antiAffinity: listOf(isCounts) },
    }),
    'what is around the class: own, affinity, antiAffinity and failures',
  ],
  agesMs: [mapOf(isNumber), 'milliseconds by node'],
  records: [listOf(isRecord), 'a list of records, each a key and what it has'],
  plugins: [
    (value) => value === undefined || listOf(withFields({ source: isText, digest: isText }))(value),
    'a list of modules, each with source and digest',
  ],
};

const shownMax = 60;

/** Takes the inputs of a decision that somebody gives; throws which field is wrong and what it may be. */
export function readInputs(given: unknown): DecisionInputs {
  if (!isObject(given)) throw refuse('', given, 'an object');
  for (const [field, [is, words]] of Object.entries(allowed))
    if (!is(given[field])) throw refuse(`.${field}`, given[field], words);
  return given as DecisionInputs;
}

function refuse(field: string, value: unknown, words: string): BerthError {
  const shown = value === undefined ? 'missing' : JSON.stringify(value).slice(0, shownMax);
  return new BerthError('Invalid', `spec.inputs${field} is ${shown}; allowed is ${words}`);
}
