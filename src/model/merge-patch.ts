const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** RFC 7386: objects are merged, null removes, everything else replaces. Neither input is changed. */
export function mergePatched(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const result: Record<string, unknown> = isRecord(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    // Assigning to this name would change the prototype instead.
    if (name === '__proto__') continue;
    if (value === null) delete result[name];
    else result[name] = mergePatched(result[name], value);
  }
  return result;
}
