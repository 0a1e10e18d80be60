import type { Static, TSchema } from 'typebox';
import type { Column, KindDefinition } from './kind.js';
import type { BerthObject, FieldError } from './object.js';

/** An object of a kind whose spec and status are known. */
export interface TypedObject<Spec, Status> extends BerthObject {
  readonly spec: Spec & Readonly<Record<string, unknown>>;
  readonly status?: Status & Readonly<Record<string, unknown>>;
}

/** When it was created; clients print it as an age. */
export const ageColumn: Column = {
  name: 'Age',
  type: 'date',
  description: 'When it was created.',
  priority: 0,
  value: '.metadata.creationTimestamp',
};

/** A column that shows a field. */
export function column(
  name: string,
  type: Column['type'],
  value: Column['value'],
  description: string,
  priority: Column['priority'] = 0,
): Column {
  return { name, type, description, priority, value };
}

type Shape<S extends TSchema, T extends TSchema> = Pick<
  KindDefinition,
  'kind' | 'plural' | 'singular' | 'scope' | 'description' | 'writers' | 'isApplied' | 'columns'
> &
  Partial<
    Pick<
      KindDefinition,
      | 'nameForm'
      | 'keptBy'
      | 'shortNames'
      | 'categories'
      | 'selectableFields'
      | 'scale'
      | 'withDefaults'
      | 'requiredFields'
    >
  > & {
    readonly spec?: S;
    readonly status?: T;
    readonly check?: (
      object: TypedObject<Static<S>, Static<T>>,
      before: TypedObject<Static<S>, Static<T>> | undefined,
    ) => readonly FieldError[];
  };

/** A kind of berth.dev/v1 with spec and status, from what is particular about it. */
export function defineKind<S extends TSchema, T extends TSchema>(shape: Shape<S, T>): KindDefinition {
  const { spec, status, check, ...rest } = shape;
  return {
    group: 'berth.dev',
    version: 'v1',
    nameForm: 'subdomain',
    keptBy: 'Store',
    shortNames: [],
    categories: [],
    selectableFields: [],
    requiredFields: spec === undefined ? [] : ['spec'],
    withDefaults: (object) => object,
    ...rest,
    fields: { ...(spec && { spec }), ...(status && { status }) },
    // A parsed boundary: check is called only with objects that passed the schema made of these fields.
    check: (object, before) =>
      check?.(
        object as TypedObject<Static<S>, Static<T>>,
        before as TypedObject<Static<S>, Static<T>> | undefined,
      ) ?? [],
  };
}
