import { apiVersionOf, type KindDefinition } from './kind.js';
import { objectMeta } from './object-meta.js';

export type OpenApiSchema = Readonly<Record<string, unknown>>;

const metaPackage = 'io.k8s.apimachinery.pkg.apis.meta.v1';

/** What validation needs and OpenAPI does not know. */
const omitted = new Set(['propertyNames', 'x-berth-counted']);
/** Our own forms of text. OpenAPI's own formats stay. */
const known = new Set(['int32', 'int64', 'date-time']);

function convert(schema: object): OpenApiSchema {
  const entries = Object.entries(schema).flatMap(
    ([keyword, value]: [string, unknown]): (readonly [string, unknown])[] => {
      if (omitted.has(keyword)) return [];
      if (keyword === 'format' && !known.has(String(value))) return [];
      if (keyword === 'items') return [[keyword, convert(value as object)]];
      if (keyword === 'properties')
        return [[keyword, convertEach(value as Readonly<Record<string, OpenApiSchema>>)]];
      // Closed is what every schema is to OpenAPI that names its properties; only a map's values are said.
      if (keyword === 'additionalProperties') {
        return typeof value === 'object' && value !== null ? [[keyword, convert(value)]] : [];
      }
      if (keyword === 'type' && Array.isArray(value)) {
        const types = value.filter((type) => type !== 'null');
        const isNullable = types.length < value.length;
        return [
          ...(isNullable ? [['nullable', true] as const] : []),
          types.length === 1 ? ['type', types[0]] : ['anyOf', types.map((type: unknown) => ({ type }))],
        ];
      }
      return [[keyword, value]];
    },
  );
  return Object.fromEntries(entries);
}

function convertEach(schemas: Readonly<Record<string, object>>): Readonly<Record<string, OpenApiSchema>> {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, convert(schema)]));
}

const reference = (name: string, description: string): OpenApiSchema => ({
  allOf: [{ $ref: `#/components/schemas/${name}` }],
  default: {},
  description,
});

const versionFields = {
  apiVersion: { type: 'string', description: 'The version of the API that this object is written in.' },
  kind: { type: 'string', description: 'What kind of object this is.' },
};

/** The name of a kind's schema among the components. */
export function openApiName({ group, version, kind }: KindDefinition): string {
  return group === '' ? `io.k8s.api.core.${version}.${kind}` : `dev.berth.${version}.${kind}`;
}

/** A kind as an OpenAPI v3 schema; its metadata refers to the component ObjectMeta. */
export function openApiSchema(kind: KindDefinition): OpenApiSchema {
  return {
    type: 'object',
    description: kind.description,
    ...(kind.requiredFields.length > 0 && { required: [...kind.requiredFields] }),
    properties: {
      ...versionFields,
      metadata: reference(
        `${metaPackage}.ObjectMeta`,
        'What every object has: its name, its labels, its versions.',
      ),
      ...convertEach(kind.fields),
    },
    'x-kubernetes-group-version-kind': [{ group: kind.group, version: kind.version, kind: kind.kind }],
  };
}

function listSchema(kind: KindDefinition): OpenApiSchema {
  return {
    type: 'object',
    description: `A list of objects of the kind ${kind.kind} (${apiVersionOf(kind)}).`,
    required: ['items'],
    properties: {
      ...versionFields,
      metadata: reference(`${metaPackage}.ListMeta`, 'At which version the list stands, and how it goes on.'),
      items: {
        type: 'array',
        description: 'The objects.',
        items: { allOf: [{ $ref: `#/components/schemas/${openApiName(kind)}` }], default: {} },
      },
    },
    'x-kubernetes-group-version-kind': [
      { group: kind.group, version: kind.version, kind: `${kind.kind}List` },
    ],
  };
}

/** All component schemas that these kinds and lists of them need. */
export function openApiComponents(kinds: readonly KindDefinition[]): Readonly<Record<string, OpenApiSchema>> {
  return {
    [`${metaPackage}.ObjectMeta`]: convert(objectMeta),
    [`${metaPackage}.ListMeta`]: {
      type: 'object',
      description: 'What every list has.',
      properties: {
        resourceVersion: { type: 'string', description: 'The version that the list stands at.' },
        continue: { type: 'string', description: 'Where the list goes on, if it does.' },
        remainingItemCount: { type: 'integer', format: 'int64', description: 'How many objects follow.' },
      },
    },
    ...Object.fromEntries(
      kinds.flatMap((kind) => [
        [openApiName(kind), openApiSchema(kind)],
        [`${openApiName(kind)}List`, listSchema(kind)],
      ]),
    ),
  };
}
