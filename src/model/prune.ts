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

/** Most objects have nothing unknown in them, and those are returned as they are: nothing is copied before it is needed. */
function prune(value: unknown, schema: Schema, path: string, unknown: string[]): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const { items } = schema;
    if (items === undefined) return value;
    const list: readonly unknown[] = value;
    const pruned = list.map((item, index) =>
      typeof item === 'object' ? prune(item, items, `${path}[${index}]`, unknown) : item,
    );
    return pruned.every((item, index) => item === list[index]) ? value : pruned;
  }
  const { properties, additionalProperties = true } = schema;
  const fields = value as Readonly<Record<string, unknown>>;
  let kept: Record<string, unknown> | undefined;
  for (const name of Object.keys(fields)) {
    const known = properties !== undefined && Object.hasOwn(properties, name) ? properties[name] : undefined;
    const inner = fields[name];
    const innerSchema = known ?? additionalProperties;
    if (innerSchema === true || (innerSchema !== false && (typeof inner !== 'object' || inner === null)))
      continue;
    const innerPath = path === '' ? name : `${path}.${name}`;
    if (innerSchema === false) {
      unknown.push(innerPath);
      kept ??= { ...fields };
      delete kept[name];
      continue;
    }
    const innerKept = prune(inner, innerSchema, innerPath, unknown);
    if (innerKept === inner) continue;
    kept ??= { ...fields };
    kept[name] = innerKept;
  }
  return kept ?? value;
}
