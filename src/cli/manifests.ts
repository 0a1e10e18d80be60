import { readdirSync, readFileSync, statSync } from 'node:fs';
import { extname, join } from 'node:path';
import { isMap, isScalar, LineCounter, parseAllDocuments } from 'yaml';
import { usageFailure } from './command-failure.js';

/** One object of a file, and where it stands there. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace: string | undefined;
  readonly body: Readonly<Record<string, unknown>>;
  /** file:line, for messages. */
  readonly where: string;
}

export interface ReadManifests {
  readonly manifests: readonly Manifest[];
  /** What could not be read, each with its position. */
  readonly problems: readonly string[];
}

// A file larger than this, or more objects than that, is no manifest of a person; it is refused.
const fileBytesMax = 32 * 1024 * 1024;
const manifestsMax = 10_000;
const extensions = new Set(['.yaml', '.yml', '.json']);

/** Reads files, directories and `-` (standard input): YAML or JSON, any number of documents, Lists taken apart. */
export function readManifests(sources: readonly string[], options: { recursive?: boolean }): ReadManifests {
  const manifests: Manifest[] = [];
  const problems: string[] = [];
  for (const file of sources.flatMap((source) => filesOf(source, options.recursive === true))) {
    readText(contentsOf(file), file === '-' ? 'standard input' : file, manifests, problems);
    if (manifests.length > manifestsMax)
      throw usageFailure(`-f: more than ${manifestsMax} objects; apply them in parts`);
  }
  return { manifests, problems };
}

function filesOf(source: string, isRecursive: boolean): string[] {
  if (source === '-') return ['-'];
  if (!statOf(source).isDirectory()) return [source];
  const entries = readdirSync(source, { withFileTypes: true }).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return entries.flatMap((entry) => {
    const path = join(source, entry.name);
    if (entry.isDirectory()) return isRecursive ? filesOf(path, true) : [];
    return extensions.has(extname(entry.name)) ? [path] : [];
  });
}

function statOf(source: string): ReturnType<typeof statSync> & object {
  try {
    return statSync(source);
  } catch (cause) {
    throw usageFailure(`-f ${source}: ${(cause as Error).message}`);
  }
}

function contentsOf(file: string): string {
  try {
    if (file !== '-' && statSync(file).size > fileBytesMax)
      throw new Error(`larger than ${fileBytesMax} bytes`);
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (cause) {
    throw usageFailure(`-f ${file}: ${(cause as Error).message}`);
  }
}

function readText(text: string, file: string, manifests: Manifest[], problems: string[]): void {
  const lines = new LineCounter();
  for (const document of parseAllDocuments(text, { lineCounter: lines, prettyErrors: false })) {
    const [error] = document.errors;
    if (error !== undefined) {
      const { line, col } = lines.linePos(error.pos[0]);
      problems.push(`${file}:${line}:${col}: ${error.message}`);
      continue;
    }
    const { contents } = document;
    if (contents === null || (isScalar(contents) && contents.value === null)) continue;
    const where = `${file}:${lines.linePos(contents.range?.[0] ?? 0).line}`;
    try {
      if (!isMap(contents)) throw new Error('not an object with fields');
      manifests.push(...manifestsIn(document.toJS({ maxAliasCount: 1000 }) as Fields, where));
    } catch (problem) {
      problems.push(`${where}: ${(problem as Error).message}`);
    }
  }
}

type Fields = Readonly<Record<string, unknown>>;

function manifestsIn(body: Fields, where: string): Manifest[] {
  const { apiVersion, kind, metadata, items } = body;
  if (typeof kind === 'string' && kind.endsWith('List') && Array.isArray(items)) {
    return (items as unknown[]).flatMap((item, index) =>
      manifestsIn(fieldsOf(item, `items[${index}]`), where),
    );
  }
  const { name, namespace } = fieldsOf(metadata, 'metadata');
  return [
    {
      apiVersion: textOf(apiVersion, 'apiVersion', 'such as berth.dev/v1'),
      kind: textOf(kind, 'kind', 'such as Workload'),
      name: textOf(name, 'metadata.name', 'the name of the object'),
      namespace: namespace === undefined ? undefined : textOf(namespace, 'metadata.namespace', 'a tenant'),
      body,
      where,
    },
  ];
}

function fieldsOf(value: unknown, field: string): Fields {
  if (value === undefined) throw new Error(`${field} is missing`);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error(`${field} is ${JSON.stringify(value)}: an object with fields is needed`);
  return value as Fields;
}

function textOf(value: unknown, field: string, needed: string): string {
  if (value === undefined) throw new Error(`${field} is missing: ${needed}`);
  if (typeof value !== 'string' || value === '')
    throw new Error(`${field} is ${JSON.stringify(value)}: a text is needed, ${needed}`);
  return value;
}
