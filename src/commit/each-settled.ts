import type { Outcome } from '../model/ports.js';

/**
 * The outcome of each, when all have one. Operations that were sent together may go in several transactions, of which
 * the store may refuse some: their callers are told to send them again, and the others keep their answers. If the
 * store refused all, its error is thrown.
 */
export async function eachSettled<T>(
  operations: readonly Promise<Outcome<T>>[],
): Promise<readonly Outcome<T>[]> {
  const settled = await Promise.allSettled(operations);
  if (settled.length > 0 && settled.every(({ status }) => status === 'rejected'))
    return Promise.all(operations);
  return settled.map((one) => {
    if (one.status === 'fulfilled') return one.value;
    const why = one.reason instanceof Error ? one.reason.message : String(one.reason);
    return { kind: 'UnknownOutcome', message: `send it again: ${why}` };
  });
}
