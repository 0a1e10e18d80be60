import { applyPatch, type Operation } from 'rfc6902';
import { BerthError } from '../model/errors.js';
import { mergePatched } from '../model/merge-patch.js';

export type PatchType = 'merge' | 'json';

const operationsMax = 10_000;

/** The object that a patch makes of another one. Neither input is changed. */
export function patched(type: PatchType, target: unknown, patch: unknown): unknown {
  return type === 'merge' ? mergePatched(target, patch) : jsonPatched(target, patch);
}

/** RFC 6902: a list of operations, all or nothing. */
function jsonPatched(target: unknown, patch: unknown): unknown {
  if (!Array.isArray(patch)) throw new BerthError('BadRequest', 'a JSON patch is a list of operations');
  if (patch.length > operationsMax) {
    throw new BerthError(
      'BadRequest',
      `a JSON patch has at most ${operationsMax} operations, this one has ${patch.length}`,
    );
  }
  const operations = patch.map((operation: unknown, index) => checkOperation(operation, index));
  const result: unknown = structuredClone(target);
  const failures = applyPatch(result, operations);
  const at = failures.findIndex((failure) => failure !== null);
  if (at >= 0) {
    const { op, path } = operations[at] as Operation;
    throw new BerthError(
      'Invalid',
      `operation ${at} of the JSON patch (${op} ${path}) failed: ${failures[at]?.message ?? failures[at]?.name}`,
    );
  }
  return result;
}

const operationNames = new Set(['add', 'remove', 'replace', 'move', 'copy', 'test']);

function checkOperation(operation: unknown, index: number): Operation {
  const where = `operation ${index} of the JSON patch`;
  if (!isRecord(operation)) throw new BerthError('BadRequest', `${where} is not an object`);
  const { op, path, from } = operation;
  if (typeof op !== 'string' || !operationNames.has(op)) {
    throw new BerthError(
      'BadRequest',
      `${where}: op ${JSON.stringify(op)} is not one of ${[...operationNames].join(', ')}`,
    );
  }
  for (const [name, pointer] of Object.entries(op === 'move' || op === 'copy' ? { path, from } : { path })) {
    if (typeof pointer !== 'string' || !/^(\/.*)?$/s.test(pointer)) {
      throw new BerthError(
        'BadRequest',
        `${where}: ${name} ${JSON.stringify(pointer)} is not a JSON pointer`,
      );
    }
    if (
      pointer
        .split('/')
        .some((part) => part === '__proto__' || part === 'constructor' || part === 'prototype')
    ) {
      throw new BerthError('BadRequest', `${where}: ${name} ${pointer} names no field of an object`);
    }
  }
  return operation as unknown as Operation;
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
