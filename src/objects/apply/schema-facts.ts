/** How deep unions and intersections of schemas are looked into; beneath it the form is deduced. */
const alternativesDepthMax = 4;

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

// A plain read of 'constructor' would find what every object inherits.
export const own = (value: unknown, name: string): unknown =>
  isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;

/** A field that tells an item of a keyed list from the others. */
export interface ItemKey {
  readonly name: string;
  readonly default: unknown;
}

/** What a schema, with the ones it is made of, says about the form of values. */
export class SchemaFacts {
  readonly isAtomicMap: boolean;
  readonly listType: unknown;
  readonly items: unknown;
  readonly #default: unknown;
  readonly #keyNames: readonly string[];
  #keys: readonly ItemKey[] | undefined;
  // Of the named fields; all others have the schema beside it.
  readonly #fields = new Map<string, unknown>();
  readonly #otherFields: unknown;

  /** Of a schema and its parts, the outer before the inner: the first that says something counts. */
  constructor(schemas: readonly unknown[]) {
    this.isAtomicMap = facet(schemas, 'x-kubernetes-map-type') === 'atomic';
    this.listType = facet(schemas, 'x-kubernetes-list-type');
    this.items = facet(schemas, 'items');
    this.#default = facet(schemas, 'default');
    const names = facet(schemas, 'x-kubernetes-list-map-keys');
    this.#keyNames = Array.isArray(names) ? names.filter((name) => typeof name === 'string') : [];
    for (const schema of schemas) {
      const properties = own(schema, 'properties');
      if (!isRecord(properties)) continue;
      for (const [name, field] of Object.entries(properties))
        if (field !== undefined && !this.#fields.has(name)) this.#fields.set(name, field);
    }
    this.#otherFields = otherFieldsOf(schemas);
  }

  field(name: string): unknown {
    return this.#fields.get(name) ?? this.#otherFields;
  }

  get itemKeys(): readonly ItemKey[] {
    this.#keys ??= this.#keyNames.map((name) => ({
      name,
      default: factsOf(factsOf(this.items).field(name)).#default,
    }));
    return this.#keys;
  }
}

// Schemas never change, and every node of every write asks.
const known = new WeakMap<object, SchemaFacts>();
const nothingSaid = new SchemaFacts([]);

export function factsOf(schema: unknown): SchemaFacts {
  if (!isRecord(schema)) return nothingSaid;
  let facts = known.get(schema);
  if (facts === undefined) {
    facts = new SchemaFacts(alternatives(schema, 0));
    known.set(schema, facts);
  }
  return facts;
}

/** A schema and the ones it is made of, the outer before the inner. */
function alternatives(schema: unknown, depth: number): readonly unknown[] {
  if (!isRecord(schema) || depth > alternativesDepthMax) return [];
  const found: unknown[] = [schema];
  for (const name of ['allOf', 'anyOf', 'oneOf']) {
    const list = own(schema, name);
    if (!Array.isArray(list)) continue;
    for (const branch of list) found.push(...alternatives(branch, depth + 1));
  }
  return found;
}

function facet(schemas: readonly unknown[], name: string): unknown {
  for (const schema of schemas) {
    const found = own(schema, name);
    if (found !== undefined) return found;
  }
  return undefined;
}

function otherFieldsOf(schemas: readonly unknown[]): unknown {
  for (const schema of schemas) {
    const additional = own(schema, 'additionalProperties');
    if (isRecord(additional)) return additional;
    // How TypeBox writes a map with string keys. With several patterns the form is deduced.
    const patterns = own(schema, 'patternProperties');
    const patterned = isRecord(patterns) ? Object.values(patterns) : [];
    if (patterned.length === 1) return patterned[0];
  }
  return undefined;
}
