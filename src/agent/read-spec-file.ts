import { LineCounter, parseDocument } from 'yaml';
import { BerthError, type ErrorCode } from '../model/errors.js';
import type { KindDefinition } from '../model/kind.js';
import type { BerthObject } from '../model/object.js';
import { Validator } from '../model/validate.js';

/** The spec of a file (YAML or JSON) of one form. What is wrong is said at once, each with path, value and what is allowed. */
export function readSpecFile(text: string, file: string, kind: KindDefinition, code: ErrorCode): unknown {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const [error] = document.errors;
  if (error !== undefined) {
    const { line, col } = lines.linePos(error.pos[0]);
    const said = error.code === 'MULTIPLE_DOCS' ? 'the file is one document, not several' : error.message;
    throw new BerthError(code, `${file}:${line}:${col}: ${said}`);
  }
  const object: unknown = document.toJS({ maxAliasCount: 1_000 });
  if (typeof object !== 'object' || object === null || Array.isArray(object))
    throw new BerthError(
      code,
      `${file}: not an object with apiVersion, kind: ${kind.kind}, metadata and spec`,
    );
  const problems = new Validator().validate(kind, object);
  if (problems.length > 0) {
    const shown = problems.map(({ path, value, message }) =>
      [path, ...(value === undefined ? [] : [JSON.stringify(value)]), message].join(': '),
    );
    throw new BerthError(code, `${file}: ${shown.join('; ')}`);
  }
  return (object as BerthObject).spec;
}
