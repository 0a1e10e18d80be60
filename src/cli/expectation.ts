import type { BerthObject } from '../client/client.js';
import { nearest } from '../model/nearest.js';
import { usageFailure } from './command-failure.js';
import { nearestField, parseFieldPath, valueAt } from './field-path.js';

/** What `wait --for` waits for. */
export interface Expectation {
  readonly text: string;
  /** What is said once it is so. */
  readonly met: string;
  isMet(object: BerthObject | undefined): boolean;
  /** What was so instead, for people whose time is up. */
  seen(object: BerthObject): string;
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly observedGeneration?: number;
}

const forms = ['condition', 'delete', 'jsonpath'];
const formsAllowed = "condition=TYPE[=STATUS], delete, or jsonpath='{.path}'[=VALUE]";

export function parseExpectation(what: string): Expectation {
  const [form, rest] = splitOnce(what);
  if (form === 'delete' && rest === undefined) return deleted;
  if (form === 'condition' && rest !== undefined && rest !== '') {
    const [type, status = 'True'] = splitOnce(rest);
    return conditionIs(type, status);
  }
  if (form === 'jsonpath' && rest !== undefined && rest !== '') return fieldIs(rest);
  const near = forms.includes(form) ? undefined : nearest(form, forms);
  const hint = near === undefined ? '' : `; did you mean ${near}?`;
  throw usageFailure(`--for ${JSON.stringify(what)}: allowed are ${formsAllowed}${hint}`);
}

/** Around the first = that stands outside the braces of a path. */
function splitOnce(text: string): [string, string | undefined] {
  const end = text.startsWith('{') ? text.indexOf('}') + 1 : 0;
  const at = text.indexOf('=', end);
  return at === -1 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}

const deleted: Expectation = {
  text: 'its deletion',
  met: 'deleted',
  isMet: (object) => object === undefined,
  seen: ({ metadata }) =>
    metadata.deletionTimestamp === undefined
      ? 'nobody has deleted it'
      : `it waits for ${metadata.finalizers?.join(', ') ?? 'nothing'}`,
};

const conditionsOf = (object: BerthObject): readonly Condition[] =>
  (object['status'] as { readonly conditions?: readonly Condition[] } | undefined)?.conditions ?? [];

function conditionIs(type: string, status: string): Expectation {
  const same = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();
  return {
    text: `condition ${type}=${status}`,
    met: 'condition met',
    isMet: (object) =>
      object !== undefined &&
      conditionsOf(object).some(
        (condition) =>
          same(condition.type, type) &&
          same(condition.status, status) &&
          // A conclusion from an older spec says nothing of this one.
          (condition.observedGeneration ?? object.metadata.generation) >= object.metadata.generation,
      ),
    seen: (object) => {
      const all = conditionsOf(object);
      const own = all.find((condition) => same(condition.type, type));
      if (own !== undefined) {
        return `it is ${own.status}${own.reason === undefined ? '' : ` (${own.reason}: ${own.message ?? ''})`}`;
      }
      const types = all.map((condition) => condition.type);
      const near = nearest(type, types);
      const hint = near === undefined ? '' : `; did you mean ${near}?`;
      return types.length === 0 ? 'it has no conditions' : `its conditions are ${types.join(', ')}${hint}`;
    },
  };
}

function fieldIs(text: string): Expectation {
  const [pathText, value] = splitOnce(text);
  const path = parseFieldPath(pathText, '--for jsonpath');
  const shown = (found: unknown): string => (typeof found === 'string' ? found : JSON.stringify(found));
  return {
    text: value === undefined ? `${pathText} to be there` : `${pathText} to be ${value}`,
    met: 'condition met',
    isMet: (object) => {
      const found = valueAt(object, path);
      return found !== undefined && (value === undefined || shown(found) === value);
    },
    seen: (object) => {
      const found = valueAt(object, path);
      if (found !== undefined) return `it is ${shown(found)}`;
      const near = nearestField(object, path);
      return `it has no ${pathText}${near === undefined ? '' : `; did you mean ${near}?`}`;
    },
  };
}
