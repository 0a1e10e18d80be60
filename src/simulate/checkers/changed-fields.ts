import { isDeepStrictEqual } from 'node:util';

const depthMax = 3;
const fieldsMax = 4;

/** The paths of the fields that differ between two values, a few of them: `status.reachability, status.evidence.since`. */
export function changedFields(before: unknown, after: unknown): string {
  if (before === undefined) return 'created';
  if (after === undefined) return 'deleted';
  const paths = differing(before, after, '', 1);
  const shown = paths.slice(0, fieldsMax).join(', ');
  if (paths.length > fieldsMax) return `${shown} and ${paths.length - fieldsMax} more`;
  return shown === '' ? 'as it was' : shown;
}

function differing(before: unknown, after: unknown, at: string, depth: number): readonly string[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (!isRecord(before) || !isRecord(after) || depth > depthMax) return [at];
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((name) =>
    differing(before[name], after[name], at === '' ? name : `${at}.${name}`, depth + 1),
  );
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
