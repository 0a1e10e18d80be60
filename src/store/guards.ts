import type { Entry, FailedGuard, Guard, Revision } from './contract.js';

/** The newest state: what stands under a key, and since when; the second may be known without the first. */
export interface NewestState {
  entry(key: string): Entry | undefined;
  /** The revision of the last change of a key that is there; undefined if it is not. */
  modRevision(key: string): Revision | undefined;
}

/** Of one who has whole entries at hand. */
export const stateOf = (entry: NewestState['entry']): NewestState => ({
  entry,
  modRevision: (key) => entry(key)?.modRevision,
});

/** The guards that do not hold on the given state. */
export function failedGuards(guards: readonly Guard[], newest: NewestState): readonly FailedGuard[] {
  let failed: FailedGuard[] | undefined;
  for (const guard of guards)
    if (!holds(guard, newest)) (failed ??= []).push({ guard, current: newest.entry(guard.key) });
  return failed ?? none;
}

const none: readonly FailedGuard[] = [];

function holds(guard: Guard, newest: NewestState): boolean {
  switch (guard.kind) {
    case 'absent':
      return newest.modRevision(guard.key) === undefined;
    case 'unchanged':
      return newest.modRevision(guard.key) === guard.modRevision;
    case 'value': {
      const entry = newest.entry(guard.key);
      return (
        entry !== undefined && (entry.value === guard.value || Buffer.compare(entry.value, guard.value) === 0)
      );
    }
  }
}
