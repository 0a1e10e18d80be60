import type { Env } from '../env/env.js';
import { type MonotonicInstant, msBetween } from '../env/instant.js';
import { BerthError, errorTable, isBerthError } from '../model/errors.js';
import type * as ports from '../model/ports.js';
import type { Replica } from '../model/kinds/replica.js';
import type { Epoch } from '../model/records.js';
import { isTerminal, type Stage } from '../model/stages.js';

/** Operations that touch accounts: one server does them for all, so that they share transactions. */
export const forwardedOperations = [
  'register',
  'incarnate',
  'reserve',
  'bind',
  'report',
  'evict',
  'release',
  'releaseHold',
  'gate',
  'grant',
  'moveGang',
  'forget',
] as const;
export type ForwardedOperation = (typeof forwardedOperations)[number];

/** The lease of the server that does them. */
export const authorityLease = 'authority';

export interface ForwardingParts {
  /** The authority of this process. */
  readonly local: ports.Authority;
  /** Who holds the lease `authority`, as far as this server has seen. */
  readonly leader: () => { readonly holder: string; readonly address: string | undefined } | undefined;
  /** The name of this server. */
  readonly holder: string;
  /**
   * Has another server do an operation and gives its answer. A BerthError that does not ask to read back means for
   * certain that nothing was done.
   */
  readonly send: (
    address: string,
    operation: ForwardedOperation,
    input: unknown,
    /** Aborts when the time for an answer is up, with a BerthError that holds for what was not sent by then. */
    signal: AbortSignal,
  ) => Promise<unknown>;
  readonly onOperation: (route: 'local' | 'forwarded', outcome: string) => void;
  readonly env: Env;
}

type Outcome<T> = ports.Outcome<T>;

// How long the other server has for its answer.
const answerMsMax = 3_000;
// After a refusal within this time the operation is done here at once. After a later refusal the caller hears of it instead: an
// attempt here could take as long again.
const anewWithinMs = 400;
// After a server did not answer, or refused, operations are done here for this long, rather than waiting for it each time.
const avoidMs = 5_000;
const outcomeKinds: readonly unknown[] = ['Committed', 'AlreadyCommitted', 'Rejected', 'UnknownOutcome'];

/**
 * Has account operations done by the server that holds the lease `authority` (DESIGN §5). That is for speed alone:
 * where the holder is not known or for certain did nothing, they are done here, and guards keep both from harm.
 */
export class ForwardingAuthority implements ports.Authority {
  #avoided: { readonly address: string; readonly since: MonotonicInstant } | undefined;

  constructor(private readonly parts: ForwardingParts) {}

  takeLease(input: ports.TakeLease): Promise<Outcome<{ readonly epoch: Epoch }>> {
    return this.parts.local.takeLease(input);
  }
  renew(input: ports.RenewLease): Promise<Outcome<ports.Renewed>> {
    return this.parts.local.renew(input);
  }
  resign(input: ports.ResignLease): Promise<Outcome<undefined>> {
    return this.parts.local.resign(input);
  }
  attest(input: ports.Attest): Promise<Outcome<undefined>> {
    return this.parts.local.attest(input);
  }
  setFence(input: ports.SetFence): Promise<Outcome<undefined>> {
    return this.parts.local.setFence(input);
  }
  settleFence(input: ports.SettleFence): Promise<Outcome<undefined>> {
    return this.parts.local.settleFence(input);
  }
  removeNode(input: ports.RemoveNode): Promise<Outcome<undefined>> {
    return this.parts.local.removeNode(input);
  }
  remark(input: ports.Remark): Promise<Outcome<undefined>> {
    return this.parts.local.remark(input);
  }
  postpone(input: ports.Postpone): Promise<Outcome<undefined>> {
    return this.parts.local.postpone(input);
  }
  publish(input: ports.Publish): Promise<Outcome<undefined>> {
    return this.parts.local.publish(input);
  }
  withdraw(input: ports.Withdraw): Promise<Outcome<undefined>> {
    return this.parts.local.withdraw(input);
  }
  move(input: ports.Move): Promise<Outcome<{ readonly stage: Stage }>> {
    return this.parts.local.move(input);
  }
  report(input: ports.Report): Promise<Outcome<{ readonly stage: Stage }>> {
    if (!isTerminal(input.stage)) return this.parts.local.report(input);
    return this.#one('report', input, () => this.parts.local.report(input));
  }
  register(input: ports.Register): Promise<Outcome<ports.Registered>> {
    return this.#one('register', input, () => this.parts.local.register(input));
  }
  incarnate(input: ports.Incarnate): Promise<Outcome<{ readonly replica: Replica }>> {
    return this.#one('incarnate', input, () => this.parts.local.incarnate(input));
  }
  reserve(input: ports.Reserve): Promise<Outcome<{ readonly reservation: string; readonly uid: string }>> {
    return this.#one('reserve', input, () => this.parts.local.reserve(input));
  }
  evict(input: ports.Evict): Promise<Outcome<{ readonly stage: Stage }>> {
    return this.#one('evict', input, () => this.parts.local.evict(input));
  }
  release(input: ports.Release): Promise<Outcome<{ readonly stage: Stage }>> {
    return this.#one('release', input, () => this.parts.local.release(input));
  }
  releaseHold(input: ports.ReleaseHold): Promise<Outcome<undefined>> {
    return this.#one('releaseHold', input, () => this.parts.local.releaseHold(input));
  }
  gate(input: ports.Gate): Promise<Outcome<undefined>> {
    return this.#one('gate', input, () => this.parts.local.gate(input));
  }
  grant(input: ports.Grant): Promise<Outcome<undefined>> {
    return this.#one('grant', input, () => this.parts.local.grant(input));
  }
  moveGang(input: ports.MoveGang): Promise<Outcome<undefined>> {
    return this.#one('moveGang', input, () => this.parts.local.moveGang(input));
  }
  forget(input: ports.Forget): Promise<Outcome<undefined>> {
    return this.#one('forget', input, () => this.parts.local.forget(input));
  }
  bind(proposals: readonly ports.Proposal[]): Promise<readonly Outcome<{ readonly fence: string }>[]> {
    return this.#all('bind', proposals, proposals.length, () => this.parts.local.bind(proposals));
  }

  async #one<T>(
    operation: ForwardedOperation,
    input: unknown,
    here: () => Promise<Outcome<T>>,
  ): Promise<Outcome<T>> {
    const [outcome] = await this.#all(operation, input, 1, async () => [await here()]);
    if (outcome === undefined) throw new Error(`${operation} has no outcome`);
    return outcome;
  }

  /** An operation with so many outcomes: one, but for `bind`, whose answer is a list of them. */
  async #all<T>(
    operation: ForwardedOperation,
    input: unknown,
    count: number,
    here: () => Promise<readonly Outcome<T>[]>,
  ): Promise<readonly Outcome<T>[]> {
    const { onOperation } = this.parts;
    const address = this.#elsewhere();
    if (address !== undefined) {
      const outcomes = await this.#there<T>(address, operation, input, count);
      for (const { kind } of outcomes ?? []) onOperation('forwarded', kind);
      if (outcomes !== undefined) return outcomes;
    }
    const outcomes = await here();
    for (const { kind } of outcomes) onOperation('local', kind);
    return outcomes;
  }

  /** Has it done by another server. Undefined: nothing was done there for certain, and it is to be done here. */
  async #there<T>(
    address: string,
    operation: ForwardedOperation,
    input: unknown,
    count: number,
  ): Promise<readonly Outcome<T>[] | undefined> {
    const { env, send } = this.parts;
    const startedAt = env.clock.monotonic();
    const tooLong = new AbortController();
    const timer = env.after(answerMsMax, () =>
      tooLong.abort(
        new BerthError('ServerUnreachable', `no connection to the authority within ${answerMsMax} ms`),
      ),
    );
    try {
      return outcomesIn<T>(operation, await send(address, operation, input, tooLong.signal), count);
    } catch (error) {
      this.#avoided = { address, since: env.clock.monotonic() };
      const message = `the authority at ${address}: ${error instanceof Error ? error.message : String(error)}`;
      if (!isCertain(error)) return unknown<T>(count, message);
      if (msBetween(startedAt, env.clock.monotonic()) > anewWithinMs) throw error;
      return undefined;
    } finally {
      timer.cancel();
    }
  }

  /** Where operations go; undefined: they are done here. */
  #elsewhere(): string | undefined {
    const { leader, holder, env } = this.parts;
    const found = leader();
    if (found === undefined || found.holder === '' || found.holder === holder) return undefined;
    const { address } = found;
    if (address === undefined || address !== this.#avoided?.address) return address;
    return msBetween(this.#avoided.since, env.clock.monotonic()) < avoidMs ? undefined : address;
  }
}

const unknown = <T>(count: number, message: string): readonly Outcome<T>[] =>
  Array.from({ length: count }, () => ({ kind: 'UnknownOutcome', message }));

/** Whether an error says that nothing was done and nothing will be. */
const isCertain = (error: unknown): boolean =>
  isBerthError(error) && errorTable[error.code].callerMay !== 'readBack';

/** A parsed boundary: the answer of a server that shares our store and our CA. */
function outcomesIn<T>(operation: ForwardedOperation, answer: unknown, count: number): readonly Outcome<T>[] {
  const outcomes: readonly unknown[] = operation === 'bind' && Array.isArray(answer) ? answer : [answer];
  const areOutcomes =
    outcomes.length === count &&
    outcomes.every((outcome) => outcomeKinds.includes((outcome as { kind?: unknown } | null)?.kind));
  return areOutcomes
    ? (outcomes as readonly Outcome<T>[])
    : unknown(count, `the answer to ${operation} is none that is known`);
}
