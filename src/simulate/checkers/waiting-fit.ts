import type { Node } from '../../model/kinds/node.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { NodeAccount } from '../../model/records.js';
import { CellView } from './cell-view.js';
import { ChargeBook } from './charge-book.js';
import type { CellState } from './checker.js';
import { GangFit } from './gang-fit.js';
import { hasRoom, isAllowedOn, isGranted, placedOn, type Waiting } from './node-fit.js';
import { brokenNodeRules } from './node-rules.js';
import { RequiredNeighbours } from './required-neighbours.js';
import { RoomByLeaving } from './room-by-leaving.js';

/**
 * Why a waiting replica need not wait. Place: a node takes it. Time: a node takes it that was silent for too long before,
 * or that custom filters refused. Room: a node takes it once replicas of lower ranks have left. Gang: enough members of its
 * gang find a place. Holds: enough members hold one. Hold: its hold is complete.
 */
export type FitKind = 'Place' | 'Time' | 'Room' | 'Gang' | 'Holds' | 'Hold';

export interface Fit {
  readonly kind: FitKind;
  readonly node: string;
}

/** Facts that the records of one revision do not show. */
export interface FitFacts {
  /** How long ago the lease of a node was renewed, and how long before that it had not been. */
  readonly heard: (node: string) => { readonly ageMs: number; readonly silentMs: number } | undefined;
  /** The custom filters of the schedulers: undefined where they refuse. Time: they look at what no cure speaks of. */
  readonly accepted: (node: Node, account: NodeAccount) => 'Place' | 'Time' | undefined;
}

/** An observation of this age still counts as fresh where the scheduler makes it a little later. */
const ageMarginMs = 1_000;

/** The replicas that wait at one revision, and which of them need not. */
export class WaitingFits {
  readonly #cell: CellView;
  readonly #book: ChargeBook;
  readonly #nodes: readonly Node[];
  readonly #neighbours: RequiredNeighbours;
  readonly #room: RoomByLeaving;
  readonly #gangs: GangFit;

  constructor(
    state: CellState,
    private readonly facts: FitFacts,
  ) {
    this.#cell = new CellView(state);
    this.#book = ChargeBook.of(state);
    this.#nodes = [...this.#cell.objects('Node')];
    this.#neighbours = new RequiredNeighbours(this.#cell, this.#book, this.#nodes);
    this.#room = new RoomByLeaving(this.#cell, this.#book);
    this.#gangs = new GangFit(this.#cell, this.#nodes, (node, waiting) => this.#isAllowed(node, waiting));
  }

  /** Why a replica should be placed, held for or bound now; undefined if it has to wait. */
  fitOf(replica: Replica): Fit | undefined {
    const { metadata, spec, status } = replica;
    const tenant = metadata.namespace ?? '';
    const revision = this.#cell.object('WorkloadRevision', tenant, spec.revision)?.spec;
    if (revision === undefined || metadata.deletionTimestamp !== undefined || status?.intent !== undefined)
      return undefined;
    const waiting: Waiting = { replica, tenant, revision };
    if (status?.stage === 'Scheduled') return this.#holdFit(waiting, status.hold ?? '');
    if (status?.stage !== 'Queued' || !isGranted(this.#cell, tenant, revision)) return undefined;
    const gang = spec.gang === undefined ? undefined : this.#cell.object('Gang', tenant, spec.gang);
    if (spec.gang === undefined || gang?.status?.state === 'Committed')
      return this.#placeFit(waiting) ?? this.#roomFit(waiting);
    const node = gang && this.#gangs.lastPlace(tenant, gang);
    return node === undefined ? undefined : { kind: 'Gang', node };
  }

  #placeFit(waiting: Waiting): Fit | undefined {
    const fits = this.#nodes.filter(
      (node) => this.#isAllowed(node, waiting) && hasRoom(this.#accountOf(node), waiting.revision),
    );
    const kindOn = (node: Node): FitKind =>
      this.#wasSilent(node, waiting) ? 'Time' : (this.#accepted(node) ?? 'Place');
    const node = fits.find((one) => kindOn(one) === 'Place') ?? fits[0];
    return node && { kind: kindOn(node), node: node.metadata.name };
  }

  /** Where room comes already the scheduler may wait for that, so that nothing is promised. */
  #roomFit(waiting: Waiting): Fit | undefined {
    if (!this.#room.mayPreempt(waiting)) return undefined;
    const allowed = this.#nodes.filter((node) => this.#isAllowed(node, waiting));
    if (allowed.some((node) => this.#room.isComing(node, waiting))) return undefined;
    const node = allowed.find((one) => this.#room.canBeMade(one, waiting));
    return node && { kind: 'Room', node: node.metadata.name };
  }

  #holdFit(waiting: Waiting, name: string): Fit | undefined {
    const { tenant, replica } = waiting;
    const hold = this.#cell.object('Reservation', tenant, name);
    if (hold?.status?.state !== 'Held' || (hold.status.awaits ?? []).length > 0) return undefined;
    const { node, intent } = hold.spec;
    const isOpen =
      brokenNodeRules(this.#cell, placedOn(waiting, node)).length === 0 &&
      this.#cell.nodeEpoch(node)?.state === 'Open';
    if (!isOpen) return undefined;
    const gang = this.#cell.object('Gang', tenant, replica.spec.gang ?? '');
    if (intent !== 'Gang' || gang?.status?.state === 'Committed') return { kind: 'Hold', node };
    return gang !== undefined && this.#gangs.holdEnough(tenant, gang) ? { kind: 'Holds', node } : undefined;
  }

  /** By every rule but room. */
  #isAllowed(node: Node, waiting: Waiting): boolean {
    const ageMs = this.facts.heard(node.metadata.name)?.ageMs ?? Number.POSITIVE_INFINITY;
    return (
      (!waitsWhenStale(waiting) || ageMs <= maxAgeMs(waiting) - ageMarginMs) &&
      this.#accepted(node) !== undefined &&
      isAllowedOn(this.#cell, this.#book, node, waiting) &&
      this.#neighbours.allow(node, waiting)
    );
  }

  #wasSilent(node: Node, waiting: Waiting): boolean {
    const silentMs = this.facts.heard(node.metadata.name)?.silentMs ?? 0;
    return waitsWhenStale(waiting) && silentMs > maxAgeMs(waiting) - ageMarginMs;
  }

  #accepted(node: Node): 'Place' | 'Time' | undefined {
    const account = this.#accountOf(node);
    return account && this.facts.accepted(node, account);
  }

  #accountOf({ metadata }: Node): NodeAccount | undefined {
    return this.#cell.nodeAccount(metadata.name);
  }
}

const waitsWhenStale = ({ revision: { placement, template } }: Waiting): boolean =>
  (placement?.freshness?.onStale ?? (template.execution === 'AtMostOne' ? 'Wait' : 'Bind')) === 'Wait';

const maxAgeMs = ({ revision: { placement } }: Waiting): number =>
  (placement?.freshness?.maxNodeAgeSeconds ?? 15) * 1_000;
