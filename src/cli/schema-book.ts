import type { BerthClient } from '../client/client.js';
import { CommandFailure } from './command-failure.js';
import { exitCodes } from './exit-codes.js';
import type { ServedKind } from './kind-lookup.js';

/** What OpenAPI says of a field, as far as people are told. */
export interface FieldSchema {
  readonly description?: string;
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, FieldSchema>>;
  readonly required?: readonly string[];
  readonly items?: FieldSchema;
  readonly additionalProperties?: FieldSchema;
  readonly anyOf?: readonly FieldSchema[];
  readonly allOf?: readonly { readonly $ref?: string }[];
  readonly 'x-kubernetes-group-version-kind'?: readonly { readonly kind: string }[];
}

interface Field {
  readonly name: string;
  readonly schema: FieldSchema;
  readonly isRequired: boolean;
}

/** The schemas of a group of kinds, as its OpenAPI document has them. */
export class SchemaBook {
  constructor(
    private readonly schemas: Readonly<Record<string, FieldSchema>>,
    private readonly kind: ServedKind,
  ) {}

  static async read(client: BerthClient, kind: ServedKind): Promise<SchemaBook> {
    const group = kind.group === '' ? `api/${kind.version}` : `apis/${kind.group}/${kind.version}`;
    const document = (await client.read(`/openapi/v3/${group}`)) as {
      readonly components: { readonly schemas: Readonly<Record<string, FieldSchema>> };
    };
    return new SchemaBook(document.components.schemas, kind);
  }

  /** The schema at a path of fields. Lists and maps are stepped into: their elements' fields are theirs. */
  at(path: readonly string[], unknownField: (field: string, known: readonly string[]) => Error): FieldSchema {
    let schema = this.#root();
    for (const name of path) {
      const fields = this.fieldsOf(schema);
      const found = fields.find((field) => field.name === name);
      if (found === undefined)
        throw unknownField(
          name,
          fields.map((field) => field.name),
        );
      ({ schema } = found);
    }
    return schema;
  }

  fieldsOf(schema: FieldSchema): readonly Field[] {
    const inner = this.#inner(schema);
    return Object.entries(inner.properties ?? {}).map(([name, field]) => ({
      name,
      schema: { ...this.#resolved(field), ...described(field) },
      isRequired: inner.required?.includes(name) === true,
    }));
  }

  typeOf(schema: FieldSchema): string {
    const { type, items, additionalProperties, anyOf } = this.#resolved(schema);
    if (items !== undefined) return `[]${this.typeOf(items)}`;
    if (additionalProperties !== undefined) return `map of ${this.typeOf(additionalProperties)}`;
    if (anyOf !== undefined) return anyOf.map((each) => this.typeOf(each)).join(' or ');
    return type ?? 'any';
  }

  #root(): FieldSchema {
    const found = Object.values(this.schemas).find((schema) =>
      schema['x-kubernetes-group-version-kind']?.some(({ kind }) => kind === this.kind.kind),
    );
    if (found === undefined)
      throw new CommandFailure(exitCodes.error, `the server has no description of ${this.kind.kind}`);
    return found;
  }

  /** What a list or map holds, however deep. */
  #inner(schema: FieldSchema): FieldSchema {
    const resolved = this.#resolved(schema);
    const held = resolved.items ?? resolved.additionalProperties;
    return held === undefined ? resolved : this.#inner(held);
  }

  #resolved(schema: FieldSchema): FieldSchema {
    const reference = schema.allOf?.[0]?.$ref;
    if (reference === undefined) return schema;
    return this.schemas[reference.replace('#/components/schemas/', '')] ?? schema;
  }
}

const described = ({ description }: FieldSchema): { description?: string } =>
  description === undefined ? {} : { description };
