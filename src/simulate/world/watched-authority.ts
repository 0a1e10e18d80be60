import { type OperationInput, operationNames, type OperationName } from '../../model/operations.js';
import type { Authority, Outcome, Proposal } from '../../model/ports.js';
import type { Acts } from './acts.js';
import type { StaleOperations } from './stale-operations.js';

type Send = (input: unknown) => Promise<Outcome<unknown>>;

/** The same authority, before which stale copies of operations are sent, and of which it is known what it committed. */
export function watchedAuthority(
  authority: Authority,
  { stale, acts }: { readonly stale: StaleOperations; readonly acts: Acts },
): Authority {
  const before = <K extends OperationName>(
    operation: K,
    input: OperationInput<K>,
    send: (copy: OperationInput<K>) => Promise<Outcome<unknown>>,
  ): ((itself: Outcome<unknown>) => void) => {
    const copied = stale.before(operation, input, send);
    return (itself) => {
      copied(itself);
      acts.note(operation, input, itself);
    };
  };
  const one = async (operation: OperationName, input: OperationInput<OperationName>): Promise<unknown> => {
    const send: Send = (each) => (authority[operation] as Send)(each);
    const after = before(operation, input, send);
    const outcome = await send(input);
    after(outcome);
    return outcome;
  };
  const bind = async (proposals: readonly Proposal[]): ReturnType<Authority['bind']> => {
    const unanswered: Outcome<unknown> = { kind: 'UnknownOutcome', message: 'bind gave no answer' };
    const sendOne = async (copy: Proposal): Promise<Outcome<unknown>> =>
      (await authority.bind([copy]))[0] ?? unanswered;
    const afters = proposals.map((proposal) => before('bind', proposal, sendOne));
    const outcomes = await authority.bind(proposals);
    for (const [index, after] of afters.entries()) after(outcomes[index] ?? unanswered);
    return outcomes;
  };
  const watched = Object.fromEntries(
    operationNames.map((operation) => [
      operation,
      (input: OperationInput<OperationName>) => one(operation, input),
    ]),
  );
  // Every operation of the table, which has a row for each of the port.
  return { ...(watched as unknown as Authority), bind };
}
