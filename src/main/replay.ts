import { BerthError } from '../model/errors.js';
import { type Decision, decision as decisionKind } from '../model/kinds/decision.js';
import { Validator } from '../model/validate.js';
import { type Replay, replayDecision } from '../propose/replay-decision.js';
import { loadPlugin } from './load-plugin.js';

/** Runs a decision again from what it says of itself, with the custom rules it was made with; refuses in one sentence what is no decision. */
export async function replay(
  object: unknown,
  plugins: readonly string[],
): Promise<Replay & { readonly name: string }> {
  if (typeof object !== 'object' || object === null || (object as { kind?: unknown }).kind !== 'Decision')
    throw new BerthError('BadRequest', 'it is not an object of kind Decision');
  const decision = object as Decision;
  const [error] = new Validator().validate(decisionKind, decision);
  if (error !== undefined)
    throw new BerthError('Invalid', `the decision cannot be read: ${error.path}: ${error.message}`);
  const { omitted, inputs } = decision.spec;
  if (inputs === undefined)
    throw new BerthError(
      'Invalid',
      `the decision has no inputs${omitted === undefined ? '' : ` (left out: ${omitted})`}`,
    );
  return {
    name: decision.metadata.name,
    ...replayDecision(decision.spec, await Promise.all(plugins.map(loadPlugin))),
  };
}
