import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import { checkMetadata } from './check-metadata.js';
import { checkShape, joinPath } from './check-shape.js';
import { countedAllowed, countedErrors } from './counted.js';
import { formats, isFormat } from './formats.js';
import { apiVersionOf, type KindDefinition } from './kind.js';
import { keyedListErrors } from './keyed-lists.js';
import { nearest } from './nearest.js';
import { objectMeta } from './object-meta.js';
import type { BerthObject, FieldError } from './object.js';

/** More errors than anybody reads. What is beyond is counted in one last entry. */
const errorsMax = 100;
const shownLengthMax = 256;

/** Only for the closed schemas of our own kinds: allErrors costs as much as there are errors, which checkShape bounds. */
function newAjv(): Ajv {
  const ajv = new Ajv({
    allErrors: true,
    verbose: true,
    ownProperties: true,
    allowUnionTypes: true,
    strict: true,
    strictRequired: false,
    // Metadata is compiled once and not into every kind; the schemas are ours, and a test compiles all of them.
    inlineRefs: false,
    meta: false,
    validateSchema: false,
    code: { optimize: false },
  });
  for (const [name, { isValid }] of Object.entries(formats)) ajv.addFormat(name, isValid);
  ajv.addSchema(objectMeta, 'metadata');
  ajv.addFormat('int32', true);
  ajv.addFormat('int64', true);
  ajv.addVocabulary([
    'x-kubernetes-int-or-string',
    'x-kubernetes-list-map-keys',
    'x-kubernetes-preserve-unknown-fields',
  ]);
  ajv.addKeyword({
    keyword: 'x-kubernetes-list-type',
    type: 'array',
    errors: 'full',
    validate: keyedListErrors,
  });
  ajv.addKeyword({
    keyword: 'x-berth-counted',
    type: ['string', 'number'],
    errors: 'full',
    validate: countedErrors,
  });
  return ajv;
}

function compile(ajv: Ajv, kind: KindDefinition): ValidateFunction {
  return ajv.compile({
    type: 'object',
    additionalProperties: false,
    required: ['apiVersion', 'kind', 'metadata', ...kind.requiredFields],
    properties: {
      apiVersion: { const: apiVersionOf(kind) },
      kind: { const: kind.kind },
      metadata: { $ref: 'metadata' },
      ...kind.fields,
    },
  });
}

/** Says what is wrong with objects. Compiles the schema of a kind when it is first needed. */
export class Validator {
  private readonly ajv = newAjv();
  private readonly compiled = new Map<KindDefinition, ValidateFunction>();

  /** Compiles a kind's schema ahead of its first use, which takes a long turn. */
  prepare(kind: KindDefinition): void {
    this.#checkOf(kind);
  }

  /**
   * All that is wrong with an object, at once; `before` is what it replaces. Fields that no schema knows have
   * the reason Unknown and nothing else has, so that a caller can make warnings of them. The kind's own rules
   * are asked once the schema has nothing else to say.
   */
  validate(kind: KindDefinition, object: unknown, before?: BerthObject): readonly FieldError[] {
    const shape = checkShape(object);
    if (shape.length > 0) return bounded(shape);

    const check = this.#checkOf(kind);
    const isValid: boolean = check(object);
    if (isValid) return bounded(ownRules(kind, object as BerthObject, before));
    const found = check.errors ?? [];
    // What is found refers to the object; it must not be kept until the next call.
    check.errors = null;
    const errors = found.slice(0, errorsMax + 1).flatMap((error) => fieldErrors(error, object));
    if (found.every((error) => error.keyword === 'additionalProperties')) {
      errors.push(...ownRules(kind, object as BerthObject, before));
    }
    return bounded(errors, found.length);
  }

  #checkOf(kind: KindDefinition): ValidateFunction {
    const check = this.compiled.get(kind) ?? compile(this.ajv, kind);
    this.compiled.set(kind, check);
    return check;
  }
}

/** What is asked of an object of which the schema has just said that it is one. */
function ownRules(
  kind: KindDefinition,
  object: BerthObject,
  before: BerthObject | undefined,
): readonly FieldError[] {
  const ofMetadata = checkMetadata(kind, object.metadata);
  const ofKind = kind.check(object, before);
  return ofMetadata.length === 0 ? ofKind : [...ofMetadata, ...ofKind];
}

function bounded(errors: readonly FieldError[], count = errors.length): readonly FieldError[] {
  if (errors.length <= errorsMax) return errors;
  const message = `${Math.max(count, errors.length) - errorsMax} more errors are not shown`;
  return [...errors.slice(0, errorsMax), { path: '', reason: 'Invalid', message }];
}

/** From the pointer of JSON to how people write it; the object tells indexes of lists from names. */
function pathOf(pointer: string, root: unknown): string {
  let at: unknown = root;
  let path = '';
  for (const escaped of pointer.split('/').slice(1)) {
    const name = escaped.replaceAll('~1', '/').replaceAll('~0', '~');
    path = Array.isArray(at) ? `${path}[${name}]` : joinPath(path, name);
    at =
      typeof at === 'object' && at !== null && Object.hasOwn(at, name)
        ? (at as Readonly<Record<string, unknown>>)[name]
        : undefined;
  }
  return path;
}

/** Values are echoed only as far as they help: whole objects and long texts do not. */
function shown(value: unknown): { readonly value?: unknown } {
  if (typeof value === 'string' && value.length > shownLengthMax)
    return { value: `${value.slice(0, shownLengthMax)}…` };
  return (typeof value === 'object' && value !== null) || value === undefined ? {} : { value };
}

const typeWords: Readonly<Record<string, string>> = {
  string: 'a text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  object: 'an object',
  array: 'a list',
  null: 'null',
};

function fieldErrors(error: ErrorObject, root: unknown): readonly FieldError[] {
  const path = pathOf(error.instancePath, root);
  const params = error.params as Readonly<Record<string, unknown>>;
  const { schema, parentSchema } = error as {
    schema?: unknown;
    parentSchema?: Readonly<Record<string, unknown>>;
  };
  const limit = String(params['limit']);
  const invalid = (message: string, reason: FieldError['reason'] = 'Invalid'): readonly FieldError[] => [
    { path, ...shown(error.data), reason, message },
  ];
  switch (error.keyword) {
    case 'required':
      return [
        {
          path: joinPath(path, String(params['missingProperty'])),
          reason: 'Required',
          message: 'is required',
        },
      ];
    case 'additionalProperties': {
      const name = String(params['additionalProperty']);
      const known = Object.keys(parentSchema?.['properties'] ?? {});
      const guess = nearest(name, known);
      const message =
        guess === undefined
          ? `unknown field; known are ${known.join(', ')}`
          : `unknown field; did you mean ${guess}?`;
      const value = (error.data as Readonly<Record<string, unknown>>)[name];
      return [{ path: joinPath(path, name), ...shown(value), reason: 'Unknown', message }];
    }
    case 'type': {
      const words = [schema].flat().map((type) => typeWords[String(type)] ?? String(type));
      const allowed = parentSchema?.['x-berth-counted'] === undefined ? words.join(' or ') : countedAllowed;
      const { data } = error;
      // Of a list or an object its kind is told, not what is in it.
      const found = Array.isArray(data) ? 'a list' : typeof data === 'object' ? 'an object' : undefined;
      return invalid(`must be ${allowed}${found === undefined || data === null ? '' : `, not ${found}`}`);
    }
    case 'enum': {
      const values = (params['allowedValues'] as readonly unknown[]).map(String);
      const guess = typeof error.data === 'string' ? nearest(error.data, values) : undefined;
      return invalid(
        `must be one of ${values.join(', ')}${guess === undefined ? '' : `; did you mean ${guess}?`}`,
        'NotSupported',
      );
    }
    case 'const':
      return invalid(`must be ${String(params['allowedValue'])}`, 'NotSupported');
    case 'format': {
      const name = String(params['format']);
      const allowed = isFormat(name) ? formats[name].allowed : name;
      if (error.propertyName === undefined) return invalid(`must be ${allowed}`);
      return [{ path, value: error.propertyName, reason: 'Invalid', message: `the key must be ${allowed}` }];
    }
    case 'minimum':
      return invalid(`must be at least ${limit}`);
    case 'maximum':
      return invalid(`must be at most ${limit}`);
    case 'minLength':
      return invalid('must not be empty', 'Required');
    case 'minItems':
      return invalid('must have at least one entry', 'Required');
    case 'maxLength':
      return error.propertyName === undefined
        ? invalid(`must have at most ${limit} characters`, 'TooLong')
        : invalid(`a key must have at most ${limit} characters`, 'TooLong');
    case 'maxItems':
    case 'maxProperties':
      return invalid(`must have at most ${limit} entries`, 'TooLong');
    case 'x-kubernetes-list-type':
      return [
        { path, ...shown(params['value']), reason: 'Duplicate', message: error.message ?? 'is there twice' },
      ];
    case 'propertyNames':
      // The error of the key itself has been reported.
      return [];
    default:
      return invalid(error.message ?? 'is not valid');
  }
}
