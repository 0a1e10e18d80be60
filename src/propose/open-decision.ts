import type { Decisions } from '../model/decisions.js';
import { type DecisionSpec, leavingNamesMax } from '../model/kinds/decision.js';
import { plus } from '../model/plus.js';
import type { Outcome, Proposal, ReplicaRef } from '../model/ports.js';
import type { Epoch } from '../model/records.js';
import type { DecisionDraft } from './contract.js';

export type DecisionSink = Pick<Decisions, 'newName' | 'append'>;

type Choice = NonNullable<DecisionSpec['choices']>[number];

export interface Decider {
  readonly name: string;
  readonly epoch: Epoch;
  readonly server: string;
}

/** A decision whose proposals are on their way: kept once the authority has said something to each. */
export class OpenDecision {
  readonly #choices: { -readonly [K in keyof Choice]: Choice[K] }[] = [];
  readonly #byOperation = new Map<string, { -readonly [K in keyof Choice]: Choice[K] }>();
  readonly name: string;
  #unanswered = 0;
  #isProposed = false;

  constructor(
    private readonly sink: DecisionSink,
    private readonly about: {
      readonly tenant: string;
      readonly draft: DecisionDraft;
      readonly decider: Decider;
      readonly at: string;
    },
  ) {
    this.name = sink.newName();
  }

  propose({ replica, operation, node }: Pick<Proposal, 'replica' | 'operation' | 'node'>): void {
    this.#note({ replica: replica.name, uid: replica.uid, operation, node });
  }

  /** A place that others leave first. */
  proposeRoom(
    { replica, operation, node }: Pick<Proposal, 'replica' | 'operation' | 'node'>,
    victims: readonly ReplicaRef[],
  ): void {
    const replicas = victims.slice(0, leavingNamesMax).map(({ name }) => name);
    const leaving = { count: victims.length, replicas };
    this.#note({ replica: replica.name, uid: replica.uid, operation, node, leaving });
  }

  #note(choice: Choice & { readonly operation: string }): void {
    const { operation } = choice;
    this.#choices.push(choice);
    this.#byOperation.set(operation, choice);
    this.#unanswered += 1;
  }

  /** No more proposals follow. */
  proposed(): void {
    this.#isProposed = true;
    this.#keepIfAnswered();
  }

  answer(operation: string, outcome: Outcome<unknown>, attempts: number): void {
    const choice = this.#byOperation.get(operation);
    // The first word counts: a decision is written once.
    if (choice === undefined || choice.outcome !== undefined) return;
    choice.outcome = outcome.kind;
    choice.attempts = attempts;
    if (outcome.kind === 'Rejected') choice.reason = outcome.reason;
    this.#unanswered -= 1;
    this.#keepIfAnswered();
  }

  #keepIfAnswered(): void {
    if (!this.#isProposed || this.#unanswered > 0) return;
    const { tenant, draft, decider, at } = this.about;
    const { name, epoch, server } = decider;
    const spec: DecisionSpec = plus(draft, {
      at,
      scheduler: { name, epoch },
      server,
      choices: this.#choices,
    });
    this.sink.append({ name: this.name, tenant, spec });
  }
}
