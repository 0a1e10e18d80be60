import { BerthError } from './errors.js';
import { checkLabelKey, checkLabelValue } from './labels.js';
import type { FieldError } from './object.js';

/** One condition on a label. A selector is the conjunction of its conditions; without any it matches everything. */
export interface LabelRequirement {
  readonly key: string;
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
  readonly values: readonly string[];
}

export type LabelSelector = readonly LabelRequirement[];

/** The form that manifests use. */
export interface LabelSelectorObject {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: LabelRequirement['operator'];
    readonly values?: readonly string[];
  }[];
}

/** Longer selectors are refused unread: nobody writes them, and matching costs their length per object. */
const textLengthMax = 10_000;

const name = '[^\\s,=!()]+';
const clauseShapes = {
  set: new RegExp(`^(${name})\\s+(in|notin)\\s*\\(([^()]*)\\)$`),
  equality: new RegExp(`^(${name})\\s*(==|=|!=)\\s*([^\\s,=!()]*)$`),
  exists: new RegExp(`^(!?)\\s*(${name})$`),
};

function refuse(selector: string, why: string): BerthError {
  return new BerthError('InvalidSelector', `the label selector "${selector}" cannot be used: ${why}`, {
    details: { selector },
  });
}

/** Splits at the commas outside parentheses. */
function clausesOf(text: string): string[] {
  const clauses: string[] = [];
  let depth = 0;
  let start = 0;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === '(') depth += 1;
    else if (character === ')') depth -= 1;
    else if (character === ',' && depth === 0) {
      clauses.push(text.slice(start, at));
      start = at + 1;
    }
  }
  clauses.push(text.slice(start));
  return clauses.map((clause) => clause.trim());
}

function parseClause(selector: string, clause: string): LabelRequirement {
  const set = clauseShapes.set.exec(clause);
  if (set !== null) {
    const [, key = '', word, list = ''] = set;
    const values = [...new Set(list.split(',').map((value) => value.trim()))].toSorted();
    return { key, operator: word === 'in' ? 'In' : 'NotIn', values };
  }
  const equality = clauseShapes.equality.exec(clause);
  if (equality !== null) {
    const [, key = '', sign, value = ''] = equality;
    return { key, operator: sign === '!=' ? 'NotIn' : 'In', values: [value] };
  }
  const exists = clauseShapes.exists.exec(clause);
  if (exists !== null) {
    const [, negation, key = ''] = exists;
    return { key, operator: negation === '!' ? 'DoesNotExist' : 'Exists', values: [] };
  }
  throw refuse(
    selector,
    `"${clause}" is none of key=value, key!=value, key in (a,b), key notin (a,b), key, !key`,
  );
}

/** Reads what `kubectl -l` sends. Throws InvalidSelector, which names the clause that is wrong. */
export function parseLabelSelector(text: string): LabelSelector {
  if (text.length > textLengthMax)
    throw refuse(`${text.slice(0, 40)}…`, `it has more than ${textLengthMax} characters`);
  if (text.trim() === '') return [];
  return clausesOf(text).map((clause) => {
    const requirement = parseClause(text, clause);
    const [error] = [
      ...checkLabelKey(requirement.key, requirement.key),
      ...requirement.values.flatMap((value) => checkLabelValue(value, value)),
    ];
    if (error !== undefined) throw refuse(text, `"${error.path}": ${error.message}`);
    return requirement;
  });
}

/** Turns the form of manifests into conditions. What is wrong with it is `checkLabelSelector`'s to say. */
export function labelSelectorOf(selector: LabelSelectorObject): LabelSelector {
  return [
    ...Object.entries(selector.matchLabels ?? {}).map(([key, value]): LabelRequirement => ({
      key,
      operator: 'In',
      values: [value],
    })),
    ...(selector.matchExpressions ?? []).map(({ key, operator, values = [] }) => ({ key, operator, values })),
  ];
}

/** All that is wrong with a selector in a manifest. */
export function checkLabelSelector(path: string, selector: LabelSelectorObject): FieldError[] {
  const expressions = (selector.matchExpressions ?? []).flatMap(({ key, operator, values = [] }, index) => {
    const at = `${path}.matchExpressions[${index}]`;
    const wantsValues = operator === 'In' || operator === 'NotIn';
    const errors = [
      ...checkLabelKey(`${at}.key`, key),
      ...values.flatMap((value, position) => checkLabelValue(`${at}.values[${position}]`, value)),
    ];
    if (wantsValues && values.length === 0) {
      errors.push({
        path: `${at}.values`,
        reason: 'Required',
        message: `${operator} needs at least one value`,
      });
    }
    if (!wantsValues && values.length > 0) {
      const message = `${operator} takes no values`;
      errors.push({ path: `${at}.values`, value: values, reason: 'Forbidden', message });
    }
    return errors;
  });
  const labels = Object.entries(selector.matchLabels ?? {}).flatMap(([key, value]) => [
    ...checkLabelKey(`${path}.matchLabels`, key),
    ...checkLabelValue(`${path}.matchLabels[${key}]`, value),
  ]);
  return [...labels, ...expressions];
}

/** A label that is not there satisfies NotIn, as everywhere in Kubernetes. */
export function matchesLabels(
  selector: LabelSelector,
  labels: Readonly<Record<string, string>> = {},
): boolean {
  return selector.every(({ key, operator, values }) => {
    const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
    switch (operator) {
      case 'In':
        return value !== undefined && values.includes(value);
      case 'NotIn':
        return value === undefined || !values.includes(value);
      case 'Exists':
        return value !== undefined;
      case 'DoesNotExist':
        return value === undefined;
    }
  });
}

/** The text that reads back as the same conditions. */
export function formatLabelSelector(selector: LabelSelector): string {
  return selector
    .map(({ key, operator, values }) => {
      switch (operator) {
        case 'In':
          return values.length === 1 ? `${key}=${values[0]}` : `${key} in (${values.join(',')})`;
        case 'NotIn':
          return values.length === 1 ? `${key}!=${values[0]}` : `${key} notin (${values.join(',')})`;
        case 'Exists':
          return key;
        case 'DoesNotExist':
          return `!${key}`;
      }
    })
    .join(',');
}
