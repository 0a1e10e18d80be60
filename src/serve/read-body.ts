import { checkShape } from '../model/check-shape.js';
import { BerthError } from '../model/errors.js';
import { jsonErrorOffset } from './json-position.js';
import { nestedTooDeep } from './nested-too-deep.js';

export type BodyType = 'json' | 'yaml' | 'merge-patch' | 'json-patch' | 'apply-patch';

const bodyTypes: Readonly<Record<string, BodyType>> = {
  'application/json': 'json',
  'application/yaml': 'yaml',
  'text/yaml': 'yaml',
  'application/merge-patch+json': 'merge-patch',
  'application/json-patch+json': 'json-patch',
  'application/apply-patch+yaml': 'apply-patch',
};

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
export async function readBody(type: BodyType, body: Buffer): Promise<unknown> {
  if (body.length === 0) throw new BerthError('BadRequest', 'the request has no body');
  const text = decodeUtf8(body);
  // Most servers start without a client that sends YAML, and its parser is large: loaded when one does.
  const isYaml = type === 'yaml' || type === 'apply-patch';
  const value = isYaml ? (await import('./read-yaml.js')).readYaml(text) : readJson(text);
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
    if (error instanceof RangeError) throw nestedTooDeep();
    const before = text.slice(0, jsonErrorOffset(text)).split('\n');
    const column = (before.at(-1)?.length ?? 0) + 1;
    throw new BerthError(
      'BadRequest',
      `the body is not JSON (line ${before.length}, column ${column}): ${(error as Error).message}`,
    );
  }
}
