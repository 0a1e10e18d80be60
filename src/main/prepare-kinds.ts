import type { Env } from '../env/env.js';
import { kinds } from '../model/kinds.js';
import type { Validator } from '../model/validate.js';

/**
 * Compiles every schema, one a turn, once a server can be reached: together they take as long as reading 10,000
 * objects. Whoever writes an object of a kind that is not compiled yet has it compiled first.
 */
export async function prepareKinds(validator: Validator, env: Env, signal: AbortSignal): Promise<void> {
  for (const kind of kinds) {
    await env.yield();
    if (signal.aborted) return;
    validator.prepare(kind);
  }
}
