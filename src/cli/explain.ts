import type { Command } from 'commander';
import { nearest } from '../model/nearest.js';
import { clientCommand } from './client-command.js';
import { usageFailure } from './command-failure.js';
import { apiVersionOf, type ServedKind } from './kind-lookup.js';
import { type FieldSchema, SchemaBook } from './schema-book.js';
import { inSession, type ClientOptions, type Session } from './session.js';
import { painted, print } from './terminal.js';

interface ExplainOptions extends ClientOptions {
  readonly recursive?: boolean;
}

// Schemas refer to no parents of theirs; this only bounds what is printed if one ever does.
const depthMax = 20;

export const explainCommand = (): Command =>
  clientCommand('explain', 'say what a kind or a field of it is: KIND[.field.path]')
    .argument('<path>', 'KIND or KIND.spec.replicas')
    .option('--recursive', 'all fields in all depth, by name and type')
    .action((path: string, options: ExplainOptions) =>
      inSession(options, (session) => explain(session, path, options.recursive === true)),
    );

async function explain(session: Session, path: string, isRecursive: boolean): Promise<void> {
  const [word = '', ...fields] = path.split('.');
  const kind = (await session.kinds()).find(word);
  const book = await SchemaBook.read(session.client, kind);
  const found = book.at(fields, (field, known) => {
    const near = nearest(field, known);
    const hint =
      near === undefined ? `its fields are ${known.join(', ') || 'none'}` : `did you mean ${near}?`;
    const at = path.slice(0, path.indexOf(`.${field}`));
    return usageFailure(`${at} has no field ${JSON.stringify(field)}; ${hint}`);
  });
  print(
    isRecursive
      ? [...heading(kind, fields, book, found), ...tree(book, found, 1)].join('\n')
      : page(kind, fields, book, found),
  );
}

function heading(
  kind: ServedKind,
  fields: readonly string[],
  book: SchemaBook,
  schema: FieldSchema,
): string[] {
  const title = (name: string): string => painted('bold', `${name}:`.padEnd(13), process.stdout);
  const allowed = [
    ...(schema.enum === undefined ? [] : [`one of ${schema.enum.map(String).join(', ')}`]),
    ...(schema.pattern === undefined ? [] : [`what matches ${schema.pattern}`]),
    ...(schema.minimum === undefined ? [] : [`from ${schema.minimum}`]),
    ...(schema.maximum === undefined ? [] : [`up to ${schema.maximum}`]),
  ];
  return [
    `${title('KIND')}${kind.kind} (${apiVersionOf(kind)})`,
    ...(fields.length === 0 ? [] : [`${title('FIELD')}${fields.join('.')} <${book.typeOf(schema)}>`]),
    `${title('DESCRIPTION')}${schema.description ?? ''}`,
    ...(allowed.length === 0 ? [] : [`${title('ALLOWED')}${allowed.join(', ')}`]),
    ...(book.fieldsOf(schema).length === 0 ? [] : [title('FIELDS').trimEnd()]),
  ];
}

const page = (kind: ServedKind, fields: readonly string[], book: SchemaBook, schema: FieldSchema): string =>
  [
    ...heading(kind, fields, book, schema),
    ...book.fieldsOf(schema).map((field) => {
      const required = field.isRequired ? ' (required)' : '';
      const head = `  ${painted('bold', field.name, process.stdout)} <${book.typeOf(field.schema)}>${required}`;
      return field.schema.description === undefined ? head : `${head}\n      ${field.schema.description}`;
    }),
  ].join('\n');

function tree(book: SchemaBook, schema: FieldSchema, depth: number): string[] {
  if (depth > depthMax) return [];
  return book
    .fieldsOf(schema)
    .flatMap((field) => [
      `${'  '.repeat(depth)}${field.name} <${book.typeOf(field.schema)}>${field.isRequired ? ' (required)' : ''}`,
      ...tree(book, field.schema, depth + 1),
    ]);
}
