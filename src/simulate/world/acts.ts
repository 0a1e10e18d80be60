import type { OperationInput, OperationName } from '../../model/operations.js';
import type { Actor, Outcome } from '../../model/ports.js';

/** The fields of inputs that say who sent an operation, and why. */
interface Said {
  readonly actor?: Actor;
  readonly node?: string;
  readonly holder?: string;
  readonly reason?: string;
  readonly reachability?: string;
  readonly to?: string;
  readonly as?: string;
}

/** The operations that the world committed, by revision: OPERATION by ACTOR (REASON). */
export class Acts {
  readonly #byRevision = new Map<number, string[]>();

  note<K extends OperationName>(operation: K, input: OperationInput<K>, outcome: Outcome<unknown>): void {
    if (outcome.kind !== 'Committed') return;
    const { actor, node, holder, reason, reachability, to, as } = input as Said;
    const who = actor === undefined ? (holder ?? `agent:${node}`) : `${actor.kind}:${actor.name}`;
    const under = actor?.lease === undefined ? '' : ` under ${actor.lease.name}`;
    const why = [to ?? as ?? reachability, reason].filter((part) => part !== undefined).join(': ');
    const act = `${operation} by ${who}${under}${why === '' ? '' : ` (${why})`}`;
    const revision = Number(outcome.revision);
    const acts = this.#byRevision.get(revision);
    if (acts === undefined) this.#byRevision.set(revision, [act]);
    else acts.push(act);
  }

  at(revision: number): readonly string[] {
    return this.#byRevision.get(revision) ?? [];
  }
}
