import { BerthError } from './errors.js';

export interface FieldRequirement {
  /** A path without a leading dot: spec.priorityClassName */
  readonly field: string;
  readonly isEqual: boolean;
  readonly value: string;
}

export type FieldSelector = readonly FieldRequirement[];

const clauseShape = /^([^=!,\s]+)\s*(==|=|!=)((?:[^\\,=]|\\[\\,=])*)$/;

function refuse(selector: string, why: string): BerthError {
  return new BerthError('InvalidSelector', `the field selector "${selector}" cannot be used: ${why}`, {
    details: { selector },
  });
}

/** Splits at commas that no backslash escapes. */
function clausesOf(text: string): string[] {
  return text.match(/(?:[^\\,]|\\[\s\S]?)+/g) ?? [];
}

/** Reads what `kubectl --field-selector` sends. `allowed` are the fields that the kind can be selected by. */
export function parseFieldSelector(text: string, allowed: readonly string[]): FieldSelector {
  return clausesOf(text)
    .filter((clause) => clause.trim() !== '')
    .map((clause) => {
      const match = clauseShape.exec(clause.trim());
      if (match === null)
        throw refuse(text, `"${clause.trim()}" is none of field=value, field==value, field!=value`);
      const [, field = '', sign, escaped = ''] = match;
      if (!allowed.includes(field)) {
        throw refuse(text, `"${field}" is not one of ${allowed.toSorted().join(', ')}`);
      }
      return { field, isEqual: sign !== '!=', value: escaped.replaceAll(/\\([\\,=])/g, '$1').trim() };
    });
}

/** A field that is not there counts as empty; a list has every value that one of its items has. */
export function matchesFields(selector: FieldSelector, object: unknown): boolean {
  return selector.every(({ field, isEqual, value }) => hasText(object, field.split('.'), value) === isEqual);
}

function hasText(at: unknown, [step, ...rest]: readonly string[], value: string): boolean {
  if (Array.isArray(at))
    return at.some((item) => hasText(item, step === undefined ? [] : [step, ...rest], value));
  if (step === undefined) {
    const isPlain = typeof at === 'string' || typeof at === 'number' || typeof at === 'boolean';
    return (isPlain ? String(at) : '') === value;
  }
  const next =
    typeof at === 'object' && at !== null && Object.hasOwn(at, step)
      ? (at as Readonly<Record<string, unknown>>)[step]
      : undefined;
  return hasText(next, rest, value);
}
