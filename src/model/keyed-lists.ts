import type { SchemaValidateFunction } from 'ajv';

/**
 * The keyword x-kubernetes-list-type for ajv: no two entries of a `map` list have the same keys, no two of a
 * `set` are equal. Without that, "the entry with this name" would mean two things.
 */
export const keyedListErrors: SchemaValidateFunction = (
  listType: string,
  list: readonly unknown[],
  parentSchema,
  context,
) => {
  keyedListErrors.errors = [];
  if (listType === 'atomic') return true;
  const keys =
    (parentSchema as { readonly 'x-kubernetes-list-map-keys'?: readonly string[] })[
      'x-kubernetes-list-map-keys'
    ] ?? [];
  const seen = new Set<string>();
  for (const [index, entry] of list.entries()) {
    const identity =
      listType === 'set'
        ? JSON.stringify(entry)
        : JSON.stringify(keys.map((key) => (entry as Readonly<Record<string, unknown>> | null)?.[key]));
    if (seen.has(identity)) {
      keyedListErrors.errors.push({
        keyword: 'x-kubernetes-list-type',
        instancePath: `${context?.instancePath ?? ''}/${index}`,
        message: listType === 'set' ? 'is there twice' : `the same ${keys.join(' and ')} is there twice`,
        params: { value: entry },
      });
    }
    seen.add(identity);
  }
  return keyedListErrors.errors.length === 0;
};
