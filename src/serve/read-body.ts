import { LineCounter, parseDocument, Parser } from 'yaml';
import { checkShape, depthMax } from '../model/check-shape.js';
import { BerthError } from '../model/errors.js';
import { jsonErrorOffset } from './json-position.js';

export type BodyType = 'json' | 'yaml' | 'merge-patch' | 'json-patch' | 'apply-patch';

const bodyTypes: Readonly<Record<string, BodyType>> = {
  'application/json': 'json',
  'application/yaml': 'yaml',
  'text/yaml': 'yaml',
  'application/merge-patch+json': 'merge-patch',
  'application/json-patch+json': 'json-patch',
  'application/apply-patch+yaml': 'apply-patch',
};

// Aliases make a small YAML text a large value.
const yamlAliasesMax = 100;

/** The form of a body; a client that does not say is taken to send JSON. */
export function bodyTypeOf(contentType: string | undefined, allowed: readonly BodyType[]): BodyType {
  const mediaType = (contentType ?? 'application/json').split(';')[0]?.trim().toLowerCase() ?? '';
  const found = Object.hasOwn(bodyTypes, mediaType) ? bodyTypes[mediaType] : undefined;
  if (found !== undefined && allowed.includes(found)) return found;
  const names = Object.keys(bodyTypes).filter((name) => allowed.includes(bodyTypes[name] as BodyType));
  throw new BerthError(
    'UnsupportedMediaType',
    `Content-Type ${JSON.stringify(mediaType)}: allowed here ${names.length === 1 ? 'is' : 'are'} ${names.join(', ')}`,
  );
}

/** The value that a body holds. What cannot be read is refused with its position. */
export function readBody(type: BodyType, body: Buffer): unknown {
  if (body.length === 0) throw new BerthError('BadRequest', 'the request has no body');
  const text = decodeUtf8(body);
  const value = type === 'yaml' || type === 'apply-patch' ? readYaml(text) : readJson(text);
  const [error] = checkShape(value);
  if (error !== undefined) {
    throw new BerthError(
      'BadRequest',
      `the body${error.path === '' ? '' : ` at ${error.path}`} ${error.message}`,
    );
  }
  return value;
}

// Without `stream` a decoder keeps nothing from one text to the next, and making one costs more than a short text.
const utf8 = new TextDecoder('utf-8', { fatal: true });

function decodeUtf8(body: Buffer): string {
  try {
    return utf8.decode(body);
  } catch {
    throw new BerthError('BadRequest', 'the body is not UTF-8');
  }
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    if (error instanceof RangeError) throw tooDeep();
    const before = text.slice(0, jsonErrorOffset(text)).split('\n');
    const column = (before.at(-1)?.length ?? 0) + 1;
    throw new BerthError(
      'BadRequest',
      `the body is not JSON (line ${before.length}, column ${column}): ${(error as Error).message}`,
    );
  }
}

function readYaml(text: string): unknown {
  const lineCounter = new LineCounter();
  try {
    checkYamlDepth(text);
    const document = parseDocument(text, { lineCounter, prettyErrors: false, uniqueKeys: true });
    const [error] = document.errors;
    if (error !== undefined) {
      const { line, col } = lineCounter.linePos(error.pos[0]);
      throw new BerthError(
        'BadRequest',
        `the body is not YAML: ${error.message} (line ${line}, column ${col})`,
      );
    }
    return document.toJS({ maxAliasCount: yamlAliasesMax }) as unknown;
  } catch (error) {
    if (error instanceof BerthError) throw error;
    if (error instanceof RangeError) throw tooDeep();
    throw new BerthError('BadRequest', `the body is not YAML: ${(error as Error).message}`);
  }
}

/**
 * The package composes a document by recursion, and a stack that overflows there can end the process. Its parser
 * proper has a stack of its own, so the depth is found out first, from what that yields.
 */
function checkYamlDepth(text: string): void {
  const open: { readonly node: unknown; readonly depth: number }[] = [];
  for (const token of new Parser().parse(text)) {
    open.push({ node: token, depth: 0 });
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const { node, depth } = next;
      if (typeof node !== 'object' || node === null) continue;
      if (depth > depthMax) throw tooDeep();
      const { items, key, value } = node as { items?: unknown; key?: unknown; value?: unknown };
      for (const inner of [key, value]) open.push({ node: inner, depth });
      if (Array.isArray(items)) for (const item of items) open.push({ node: item, depth: depth + 1 });
    }
  }
}

const tooDeep = (): BerthError =>
  new BerthError('BadRequest', `the body is nested deeper than ${depthMax} levels`);
