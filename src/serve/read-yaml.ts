import { LineCounter, parseDocument, Parser } from 'yaml';
import { depthMax } from '../model/check-shape.js';
import { BerthError } from '../model/errors.js';
import { nestedTooDeep } from './nested-too-deep.js';

// Aliases make a small YAML text a large value.
const yamlAliasesMax = 100;

/** The value of a YAML text; what cannot be read is refused with its position. */
export function readYaml(text: string): unknown {
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
    if (error instanceof RangeError) throw nestedTooDeep();
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
      if (depth > depthMax) throw nestedTooDeep();
      const { items, key, value } = node as { items?: unknown; key?: unknown; value?: unknown };
      for (const inner of [key, value]) open.push({ node: inner, depth });
      if (Array.isArray(items)) for (const item of items) open.push({ node: item, depth: depth + 1 });
    }
  }
}
