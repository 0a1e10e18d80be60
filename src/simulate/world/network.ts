import { operationNames } from '../../model/operations.js';
import type { Authority, Outcome } from '../../model/ports.js';
import type { Faults } from './faults.js';
import type { Life, SimProcess } from './sim-process.js';

const latencyMsMax = 8;
const timeoutMs = 3_000;

type Named = Pick<SimProcess, 'name'>;

const way = (from: Named, to: Named): string => `${from.name} ${to.name}`;

/** The network between processes: calls are late, lost, answered to nobody, or arrive twice. */
export class Network {
  /** Ways on which nothing passes, as `FROM TO`: what is sent back may still arrive. */
  readonly #cut = new Set<string>();

  constructor(private readonly faults: Faults) {}

  /** Whether what the one sends reaches the other. */
  isCut(from: Named, to: Named): boolean {
    return this.#cut.has(way(from, to));
  }

  /** Whether nothing passes between the two. */
  isParted(one: Named, other: Named): boolean {
    return this.isCut(one, other) && this.isCut(other, one);
  }

  /** Whether what the one sends reaches the other, and what that one sends back is lost. */
  isOneWay(from: Named, to: Named): boolean {
    return !this.isCut(from, to) && this.isCut(to, from);
  }

  cutWay(from: Named, to: Named): void {
    this.#cut.add(way(from, to));
  }

  healWay(from: Named, to: Named): void {
    this.#cut.delete(way(from, to));
  }

  /** From now on nothing passes between the two. */
  cut(one: Named, other: Named): void {
    this.cutWay(one, other);
    this.cutWay(other, one);
  }

  heal(one: Named, other: Named): void {
    this.healWay(one, other);
    this.healWay(other, one);
  }

  healAll(): void {
    this.#cut.clear();
  }

  /** Calls `serve` in the other process, unless either is gone by then. Undefined: no answer came in time. */
  async call<T>(from: Life, to: SimProcess, serve: (there: Life) => Promise<T>): Promise<T | undefined> {
    const { env } = from;
    const delayed = (): Promise<void> => env.sleep(1 + env.random.integer(latencyMsMax));
    await delayed();
    const there = to.life;
    if (
      there === undefined ||
      this.isCut(from.member, to) ||
      this.faults.strikes('network.requestLost', env.random)
    ) {
      await env.sleep(timeoutMs);
      return undefined;
    }
    if (this.faults.strikes('network.duplicated', env.random))
      there.env.after(env.random.integer(2_000), () => void serve(there).catch(() => undefined));
    const answer = await this.#inTime(from, serve(there));
    if (
      answer === undefined ||
      this.isCut(to, from.member) ||
      this.faults.strikes('network.replyLost', env.random)
    ) {
      await env.sleep(timeoutMs);
      return undefined;
    }
    await delayed();
    if ('error' in answer) throw answer.error;
    return answer.value;
  }

  /** What the other side answers, undefined if that takes too long: it may have crashed, and then never does. */
  #inTime<T>(
    from: Life,
    call: Promise<T>,
  ): Promise<{ readonly value: T } | { readonly error: Error } | undefined> {
    return from.whileAlive(
      new Promise((resolve) => {
        const timer = from.env.after(timeoutMs, () => resolve(undefined));
        const settle = (answer: { readonly value: T } | { readonly error: Error }): void => {
          timer.cancel();
          resolve(answer);
        };
        call.then(
          (value) => settle({ value }),
          (error: unknown) => settle({ error: error as Error }),
        );
      }),
    );
  }
}

const unanswered: Outcome<never> = { kind: 'UnknownOutcome', message: 'no answer came in time' };

/** An authority in another process: the one that `pick` names at each call. */
export function remoteAuthority(
  network: Network,
  from: Life,
  pick: () => { readonly to: SimProcess; readonly authority: () => Authority | undefined },
): Authority {
  const call = async <T>(serve: (authority: Authority) => Promise<T>, none: T): Promise<T> => {
    const { to, authority } = pick();
    const answer = await network.call(from, to, () => {
      const there = authority();
      return there === undefined ? Promise.resolve(none) : serve(there);
    });
    return answer ?? none;
  };
  const remote = Object.fromEntries(
    operationNames.map((name) => [
      name,
      (input: never) =>
        call(
          (authority) => (authority[name] as (input: never) => Promise<Outcome<unknown>>)(input),
          unanswered,
        ),
    ]),
  );
  const bind: Authority['bind'] = (proposals) =>
    call(
      (authority) => authority.bind(proposals),
      proposals.map(() => unanswered),
    );
  return { ...(remote as unknown as Authority), bind };
}
