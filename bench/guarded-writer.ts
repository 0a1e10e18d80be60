import type { Guard, Revision, Store, Write } from '../src/store/contract.js';

/** Transactions that guard every key they write on the revision it was last written at here. */
export function guardedWriter(
  store: Store,
  value: Uint8Array,
  keysOf: (caller: number, round: number) => readonly string[],
): (caller: number, round: number) => Promise<void> {
  const known = new Map<string, Revision>();
  return async (caller, round) => {
    const keys = keysOf(caller, round);
    const guards = keys.map((key): Guard => {
      const modRevision = known.get(key);
      return modRevision === undefined ? { kind: 'absent', key } : { kind: 'unchanged', key, modRevision };
    });
    const writes = keys.map((key): Write => ({ kind: 'put', key, value }));
    const outcome = await store.transact({ guards, writes });
    if (outcome.kind !== 'Committed') throw new Error(outcome.kind);
    for (const key of keys) known.set(key, outcome.revision);
  };
}
