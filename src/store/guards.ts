import type { Entry, FailedGuard, Guard } from './contract.js';

/** The guards that do not hold on the given state. */
export function failedGuards(
  guards: readonly Guard[],
  current: (key: string) => Entry | undefined,
): readonly FailedGuard[] {
  const failed: FailedGuard[] = [];
  for (const guard of guards) {
    const entry = current(guard.key);
    if (!holds(guard, entry)) failed.push({ guard, current: entry });
  }
  return failed;
}

function holds(guard: Guard, entry: Entry | undefined): boolean {
  switch (guard.kind) {
    case 'absent':
      return entry === undefined;
    case 'unchanged':
      return entry?.modRevision === guard.modRevision;
    case 'value':
      return entry !== undefined && Buffer.compare(entry.value, guard.value) === 0;
  }
}
