import type { KindDefinition } from './kind.js';
import type { BerthObject } from './object.js';
import { objectMeta } from './object-meta.js';

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
}

/** An object without the fields that its kind does not know, and the paths of those. */
export function pruneUnknown(
  kind: KindDefinition,
  object: BerthObject,
): { readonly object: BerthObject; readonly unknown: readonly string[] } {
  const unknown: string[] = [];
  const schema: Schema = {
    properties: {
      apiVersion: {},
      kind: {},
      metadata: objectMeta as Schema,
      ...(kind.fields as Record<string, Schema>),
    },
    additionalProperties: false,
  };
  return { object: prune(object, schema, '', unknown) as BerthObject, unknown };
}

function prune(value: unknown, schema: Schema, path: string, unknown: string[]): unknown {
  if (Array.isArray(value)) {
    const { items } = schema;
    if (items === undefined) return value;
    return value.map((item: unknown, index) => prune(item, items, `${path}[${index}]`, unknown));
  }
  if (typeof value !== 'object' || value === null) return value;
  const kept: Record<string, unknown> = {};
  for (const [name, inner] of Object.entries(value)) {
    const { properties, additionalProperties = true } = schema;
    const known = properties !== undefined && Object.hasOwn(properties, name) ? properties[name] : undefined;
    const innerPath = path === '' ? name : `${path}.${name}`;
    if (known !== undefined) kept[name] = prune(inner, known, innerPath, unknown);
    else if (additionalProperties === false) unknown.push(innerPath);
    else if (additionalProperties === true) kept[name] = inner;
    else kept[name] = prune(inner, additionalProperties, innerPath, unknown);
  }
  return kept;
}
