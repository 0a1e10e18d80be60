import type { Reservation } from '../model/kinds/reservation.js';
import type { Actor, Authority, Outcome, Records, Reserve } from '../model/ports.js';
import { statusKey } from '../model/records.js';
import type { DecisionDraft, PendingReplica } from './contract.js';
import { gangHoldSeconds, type GangStep, type GangView } from './gangs.js';
import { statusIn } from './held-replicas.js';
import { KeptRefusals } from './kept-refusals.js';
import type { OpenDecision } from './open-decision.js';
import { outcomeOfError } from './outcome-of-error.js';
import type { KnownOutcome, RetrySender } from './retry-sender.js';

export interface GangOrdersParts {
  readonly authority: Pick<Authority, 'moveGang' | 'reserve' | 'releaseHold'>;
  readonly records: Records;
  readonly sender: RetrySender;
  readonly nowMs: () => number;
  readonly openDecision: (tenant: string, draft: DecisionDraft) => OpenDecision;
  readonly actor: Actor;
  readonly policyRevision: string;
  /** A part of every operation's id that no other term or shard has. */
  readonly idPart: string;
  /** Whether somebody still brings it together. */
  readonly isDriven: (tenant: string, gang: string) => boolean;
}

/** A hold that is asked for, and the decision that it is a part of. */
export interface AskedHold {
  readonly replica: PendingReplica;
  readonly proposal: Reserve;
  readonly decision: OpenDecision;
}

interface NamedGang {
  readonly tenant: string;
  readonly name: string;
}

/** What gangs ask of the authority, each until its outcome is known, and the decisions that say why. */
export class GangOrders {
  readonly #refusals = new KeptRefusals();
  #operations = 0;

  constructor(private readonly parts: GangOrdersParts) {}

  /** The holds that steps ask for, each in the decision that it came from. */
  decided({ tenant, name }: NamedGang, steps: readonly GangStep[]): readonly AskedHold[] {
    const decisions = new Map<DecisionDraft, OpenDecision>();
    const asked: AskedHold[] = [];
    for (const step of steps) {
      if (step.kind !== 'Reserve') continue;
      const decision = decisions.get(step.draft) ?? this.parts.openDecision(tenant, step.draft);
      decisions.set(step.draft, decision);
      const proposal = this.#proposal(step, decision);
      if (proposal.victims === undefined) decision.propose(proposal);
      else decision.proposeRoom(proposal, proposal.victims);
      asked.push({ replica: step.placement.replica, proposal, decision });
    }
    for (const decision of decisions.values()) decision.proposed();
    if (decisions.size > 0) this.#refusals.forget(`${tenant}/${name}`);
    return asked;
  }

  /** The decision that says why there is no place: this one, or one that said the same lately. */
  receiptFor({ tenant, name }: NamedGang, draft: DecisionDraft): string {
    const decision = this.parts.openDecision(tenant, draft);
    const lot = `${tenant}/${name}`;
    const receipt = this.#refusals.receiptFor(lot, decision.name, draft, this.parts.nowMs());
    if (receipt === decision.name) decision.proposed();
    return receipt;
  }

  move(
    { tenant, name: gang }: NamedGang,
    uid: string,
    to: GangView['state'],
  ): Promise<KnownOutcome | undefined> {
    const { authority, actor, sender, isDriven } = this.parts;
    const operation = this.#operation(`gang/${uid}/${to}`);
    return sender.untilKnown(
      () => authority.moveGang({ actor, tenant, gang, uid, to, operation }),
      () => isDriven(tenant, gang),
    );
  }

  reserve({ proposal, decision }: AskedHold, isOpen: () => boolean): Promise<KnownOutcome | undefined> {
    const { authority, records, sender } = this.parts;
    let attempts = 0;
    const send = async (): Promise<Outcome<unknown>> => {
      const outcome: Outcome<unknown> = await authority
        .reserve(proposal)
        .catch((error: unknown) => outcomeOfError(error, records.version));
      decision.answer(proposal.operation, outcome, (attempts += 1));
      return outcome;
    };
    return sender.untilKnown(send, isOpen);
  }

  async releaseHold(
    tenant: string,
    { reservation, uid }: { readonly reservation: string; readonly uid: string },
  ): Promise<void> {
    const { authority, actor, records, sender } = this.parts;
    const operation = this.#operation(`release-hold/${uid}`);
    const [as, reason] = ['Released', 'GangIncomplete'] as const;
    const key = statusKey('Reservation', tenant, reservation);
    await sender.untilKnown(
      () => authority.releaseHold({ actor, tenant, reservation, uid, as, reason, operation }),
      () => statusIn<Reservation>(records, key)?.state === 'Held',
    );
  }

  #proposal({ placement, draft }: Extract<GangStep, { kind: 'Reserve' }>, decision: OpenDecision): Reserve {
    const { actor, policyRevision } = this.parts;
    const { tenant, name, uid } = placement.replica;
    const { node, nodeEpoch, devices } = placement;
    return {
      ...{ actor, replica: { tenant, name, uid }, node, nodeEpoch, policyRevision },
      ...{ operation: this.#operation(`reserve/${uid}`), decision: decision.name },
      ...{ snapshotRevision: draft.snapshot.revision, intent: 'Gang', deadlineSeconds: gangHoldSeconds },
      ...(devices !== undefined && { devices }),
      ...('victims' in placement && { victims: placement.victims }),
    };
  }

  #operation(what: string): string {
    this.#operations += 1;
    return `${what}/${this.parts.idPart}.g${this.#operations}`;
  }
}
