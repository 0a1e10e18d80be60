import { BerthError } from '../model/errors.js';
import { fieldErrorText } from '../model/field-error-text.js';
import type { KindDefinition } from '../model/kind.js';
import type { BerthObject, FieldError } from '../model/object.js';
import { pruneUnknown } from '../model/prune.js';
import type { Validator } from '../model/validate.js';

/** What to do about a field that the kind does not know: refuse it, drop it and say so, or drop it. */
export type FieldValidation = 'Strict' | 'Warn' | 'Ignore';

/** A check that another part adds, after all others. It may look at the object, not change it. */
export type AdmissionCheck = (
  kind: KindDefinition,
  object: BerthObject,
  before: BerthObject | undefined,
) => readonly FieldError[];

export interface Admitted {
  readonly object: BerthObject;
  readonly warnings: readonly string[];
}

/** Decides whether an object may be stored: defaults, schema, the kind's own rules, then added checks. All errors at once. */
export class Admission {
  constructor(
    private readonly validator: Validator,
    private readonly checks: readonly AdmissionCheck[] = [],
  ) {}

  admit(
    kind: KindDefinition,
    object: BerthObject,
    before: BerthObject | undefined,
    fieldValidation: FieldValidation,
  ): Admitted {
    const warnings: string[] = [];
    let { result, errors } = this.#validated(kind, object, before);
    // Fields that the kind does not know are errors, too: only where there are errors is it worth looking for such.
    if (errors.length > 0 && fieldValidation !== 'Strict') {
      const { object: pruned, unknown } = pruneUnknown(kind, object);
      if (fieldValidation === 'Warn') warnings.push(...unknown.map((path) => `unknown field "${path}"`));
      ({ result, errors } = this.#validated(kind, pruned, before));
    }
    if (errors.length > 0) throw invalid(kind, object, errors);
    const added = this.checks.flatMap((check) => check(kind, result, before));
    if (added.length > 0) throw invalid(kind, object, added);
    return { object: result, warnings };
  }

  #validated(
    kind: KindDefinition,
    object: BerthObject,
    before: BerthObject | undefined,
  ): { readonly result: BerthObject; readonly errors: readonly FieldError[] } {
    // Defaults are for objects of the right shape. On others they could only guess, so those are refused as they are.
    const result = tryDefaults(kind, object) ?? object;
    return { result, errors: this.validator.validate(kind, result, before) };
  }
}

/** Defaults are written for objects of the right shape; what they make of others is for the schema to refuse. */
function tryDefaults(kind: KindDefinition, object: BerthObject): BerthObject | undefined {
  try {
    return kind.withDefaults(object);
  } catch {
    return undefined;
  }
}

function invalid(kind: KindDefinition, object: BerthObject, errors: readonly FieldError[]): BerthError {
  const shown = errors.map((error) => {
    const text = fieldErrorText(error);
    return error.path === '' ? text : `${error.path}: ${text}`;
  });
  const name = object.metadata.name || object.metadata.generateName || '';
  const text = shown.length === 1 ? shown[0] : `[${shown.join(', ')}]`;
  return new BerthError('Invalid', `${kind.kind} ${JSON.stringify(name)} is invalid: ${text}`, {
    details: { kind: kind.kind, group: kind.group, name, causes: errors },
  });
}
