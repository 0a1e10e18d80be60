import type { BerthObject } from '../client/client.js';
import { print } from './terminal.js';

/** `-o json` and `-o yaml`: one object as itself, several as a List. */
export async function printObjects(
  objects: readonly BerthObject[],
  format: 'json' | 'yaml',
  isList: boolean,
): Promise<void> {
  const shown = objects.map(readable);
  const value = isList ? { apiVersion: 'v1', kind: 'List', metadata: {}, items: shown } : shown[0];
  print(await formatValue(value, format));
}

export async function formatValue(value: unknown, format: 'json' | 'yaml'): Promise<string> {
  if (format === 'json') return JSON.stringify(value, undefined, 2);
  const { stringify } = await import('yaml');
  return stringify(value, { lineWidth: 0, aliasDuplicateObjects: false }).trimEnd();
}

/** An object as people read it: what it is first, its state last; who owns which field is long, and for programs. */
export function readable(object: BerthObject): BerthObject {
  const { apiVersion, kind, metadata: all, spec, status, ...rest } = object;
  const { managedFields: _, ...metadata } = all;
  return {
    apiVersion,
    kind,
    metadata,
    ...(spec === undefined ? {} : { spec }),
    ...rest,
    ...(status === undefined ? {} : { status }),
  };
}
