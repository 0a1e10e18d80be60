import type { CountedUnit } from './counted.js';
import type { TextFormat } from './formats.js';
import type { Static, TSchema, TUnsafe } from 'typebox';

/**
 * The words that kinds are written in. Each makes a JSON schema that carries its static type, its description
 * and what Kubernetes clients want to know of it, so that types, validation and OpenAPI have one source.
 * Objects are closed, and everything read from them is read-only.
 */
export type Field<T> = TUnsafe<T>;

type Fields = Readonly<Record<string, TSchema>>;
type Flat<T> = { readonly [K in keyof T]: T[K] };
/** The static type of an object with these required and these optional fields. */
type RecordOf<R extends Fields, O extends Fields> = Flat<
  { readonly [K in keyof R]: Static<R[K]> } & { readonly [K in keyof O]?: Static<O[K]> }
>;

/**
 * A JSON schema with its static type. Only TypeBox's types are used: loading the library itself would cost every
 * start of the program more than all kinds together, and what it adds at run time nobody here needs.
 */
export function schema<T>(json: Readonly<Record<string, unknown>>): Field<T> {
  return json as unknown as Field<T>;
}

/** Texts and lists that name no bound of their own have these. What is larger is refused. */
const textLengthMax = 4_096;
const listLengthMax = 1_024;

interface TextRules {
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly format?: TextFormat;
}

export function text(description: string, rules: TextRules = {}): Field<string> {
  return schema<string>({ type: 'string', maxLength: textLengthMax, ...rules, description });
}

/** The name of another object. */
export function nameOf(description: string): Field<string> {
  return text(description, { format: 'name', maxLength: 253 });
}

/** A point in time, for people to read: nothing compares it with a clock. */
export function timestamp(description: string): Field<string> {
  return text(description, { format: 'date-time', maxLength: 64 });
}

export function integer(
  description: string,
  rules: { readonly minimum?: number; readonly maximum?: number } = {},
): Field<number> {
  return schema<number>({
    type: 'integer',
    format: 'int64',
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    ...rules,
    description,
  });
}

/** How many; at most what 32 bits hold, as clients expect of replicas and the like. */
export function count(
  description: string,
  rules: { readonly minimum?: number; readonly maximum?: number } = {},
): Field<number> {
  return schema<number>({
    type: 'integer',
    format: 'int32',
    minimum: 0,
    maximum: 2_147_483_647,
    ...rules,
    description,
  });
}

/** A length of time in whole seconds; at most a year. */
export function seconds(description: string, rules: { readonly minimum?: number } = {}): Field<number> {
  return count(description, { maximum: 31_536_000, ...rules });
}

/** A measured number that need not be whole: a score, an age. */
export function measure(description: string): Field<number> {
  return schema<number>({ type: 'number', description });
}

export function flag(description: string): Field<boolean> {
  return schema<boolean>({ type: 'boolean', description });
}

export function choice<const T extends string>(description: string, values: readonly T[]): Field<T> {
  return schema<T>({ type: 'string', enum: [...values], description });
}

/** An amount of a resource as people write it; `parseQuantity` reads it. Never negative, and never more than is counted. */
export function quantity(description: string, unit: CountedUnit): Field<string | number> {
  return schema<string | number>({
    type: ['string', 'number'],
    'x-berth-counted': unit,
    'x-kubernetes-int-or-string': true,
    description,
  });
}

/** A number, or the name of something that has one. */
export function intOrText(
  description: string,
  rules: { readonly maximum?: number } = {},
): Field<string | number> {
  return schema<string | number>({
    type: ['string', 'integer'],
    minLength: 1,
    maxLength: 63,
    minimum: 1,
    ...rules,
    'x-kubernetes-int-or-string': true,
    description,
  });
}

/** A closed object: these fields must be there, the others may be. */
export function record<R extends Fields>(
  description: string,
  required: R,
): Field<{ readonly [K in keyof R]: Static<R[K]> }>;
export function record<R extends Fields, O extends Fields>(
  description: string,
  required: R,
  optional: O,
): Field<RecordOf<R, O>>;
export function record(description: string, required: Fields, optional: Fields = {}): TSchema {
  const names = Object.keys(required);
  return schema<unknown>({
    type: 'object',
    additionalProperties: false,
    ...(names.length > 0 && { required: names }),
    properties: { ...required, ...optional },
    description,
  });
}

/** What the keys of a map are: a name of ours, or a label's key (which is checked with the labels). */
type Keys = 'name' | 'label';

export function mapOf<V extends TSchema>(
  description: string,
  value: V,
  keys: Keys = 'name',
): Field<Readonly<Record<string, Static<V>>>> {
  return schema<Readonly<Record<string, Static<V>>>>({
    type: 'object',
    additionalProperties: value,
    ...(keys === 'name' ? { propertyNames: { type: 'string', format: 'key', maxLength: 253 } } : {}),
    maxProperties: listLengthMax,
    description,
  });
}

interface ListRules {
  readonly minItems?: number;
  readonly maxItems?: number;
}

/** A list that is replaced as a whole. */
export function listOf<V extends TSchema>(
  description: string,
  items: V,
  rules: ListRules = {},
): Field<readonly Static<V>[]> {
  return schema<readonly Static<V>[]>({
    type: 'array',
    items,
    maxItems: listLengthMax,
    ...rules,
    'x-kubernetes-list-type': 'atomic',
    description,
  });
}

/** A list whose entries are told apart by some of their fields; two managers can own two entries. */
export function listByKey<V extends TSchema>(
  description: string,
  keys: readonly (keyof Static<V> & string)[],
  items: V,
  rules: ListRules = {},
): Field<readonly Static<V>[]> {
  return schema<readonly Static<V>[]>({
    type: 'array',
    items,
    maxItems: listLengthMax,
    ...rules,
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': [...keys],
    description,
  });
}

/** A list in which no value comes twice. */
export function setOf<V extends TSchema>(
  description: string,
  items: V,
  rules: ListRules = {},
): Field<readonly Static<V>[]> {
  return schema<readonly Static<V>[]>({
    type: 'array',
    items,
    maxItems: listLengthMax,
    ...rules,
    'x-kubernetes-list-type': 'set',
    description,
  });
}

/** Any JSON object, not looked into. */
export function anything(description: string): Field<Readonly<Record<string, unknown>>> {
  return schema<Readonly<Record<string, unknown>>>({
    type: 'object',
    additionalProperties: true,
    'x-kubernetes-preserve-unknown-fields': true,
    description,
  });
}
