import { addAmounts, amountOf, firstOver } from '../../model/amount.js';
import type { Gang } from '../../model/kinds/gang.js';
import type { Node } from '../../model/kinds/node.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { WorkloadRevisionSpec } from '../../model/kinds/workload-revision.js';
import { labelSelectorOf, matchesLabels } from '../../model/label-selector.js';
import type { NodeAccount } from '../../model/records.js';
import { CellView, placeOf } from './cell-view.js';
import { ChargeBook } from './charge-book.js';
import type { LiveCharge } from './charges.js';
import type { CellState } from './checker.js';
import {
  accountWithout,
  canLeave,
  hasRoom,
  isAllowedOn,
  isGranted,
  isWithinGuarantee,
  placedOn,
  type Waiting,
} from './node-fit.js';
import { brokenNodeRules, regionOf, zoneOf } from './node-rules.js';

/**
 * What a waiting replica waits for no longer. Place: a node takes it. Time: a node takes it that was silent for too long
 * before, or that custom filters refused. Room: a node takes it once replicas of lower ranks have left. Gang: enough members of its gang find a place.
 * Holds: enough members hold one. Hold: its hold is complete.
 */
export type FitKind = 'Place' | 'Time' | 'Room' | 'Gang' | 'Holds' | 'Hold';

export interface Fit {
  readonly kind: FitKind;
  readonly node: string;
}

/** What the records of one revision do not say. */
export interface FitFacts {
  /** How long ago the lease of a node was renewed, and how long before that it had not been. */
  readonly heard: (node: string) => { readonly ageMs: number; readonly silentMs: number } | undefined;
  /** The custom filters of the schedulers: undefined where they refuse. Time: they look at what no cure speaks of. */
  readonly accepted: (node: Node, account: NodeAccount) => 'Place' | 'Time' | undefined;
}

type Placement = NonNullable<WorkloadRevisionSpec['placement']>;
type NeighbourRule = NonNullable<Placement['affinity']>[number];

/** An observation of this age still counts as fresh where the scheduler makes it a little later. */
const ageMarginMs = 1_000;

/** What waits at one revision, and what no longer needs to. */
export class WaitingFits {
  readonly #cell: CellView;
  readonly #book: ChargeBook;
  readonly #nodes: readonly Node[];

  constructor(
    state: CellState,
    private readonly facts: FitFacts,
  ) {
    this.#cell = new CellView(state);
    this.#book = ChargeBook.of(state);
    this.#nodes = [...this.#cell.objects('Node')];
  }

  /** Why a replica should be placed, held for or bound now; undefined if it has to wait. */
  fitOf(replica: Replica): Fit | undefined {
    const { metadata, spec, status } = replica;
    const revision = this.#cell.object('WorkloadRevision', metadata.namespace, spec.revision)?.spec;
    if (revision === undefined || metadata.deletionTimestamp !== undefined || status?.intent !== undefined)
      return undefined;
    const waiting: Waiting = { replica, tenant: metadata.namespace ?? '', revision };
    if (status?.stage === 'Scheduled') return this.#holdFit(waiting, status.hold ?? '');
    if (status?.stage !== 'Queued' || !isGranted(this.#cell, waiting.tenant, revision)) return undefined;
    if (spec.gang === undefined) return this.#placeFit(waiting) ?? this.#roomFit(waiting);
    const gang = this.#cell.object('Gang', waiting.tenant, spec.gang);
    if (gang === undefined) return undefined;
    return gang.status?.state === 'Committed'
      ? (this.#placeFit(waiting) ?? this.#roomFit(waiting))
      : this.#gangFit(waiting.tenant, gang);
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

  /**
   * Whether replicas of lower ranks can be asked to leave. Where something leaves already the scheduler may wait for that
   * instead, so that nothing is promised.
   */
  #roomFit(waiting: Waiting): Fit | undefined {
    const { tenant, revision } = waiting;
    const className = revision.priorityClassName ?? 'default';
    const own = this.#cell.object('PriorityClass', undefined, className)?.spec;
    if (own?.preemption === 'Never' || this.#mayWait(waiting)) return undefined;
    const isGuaranteed = isWithinGuarantee(this.#cell, tenant, revision);
    for (const node of this.#nodes) {
      const account = this.#accountOf(node);
      if (account === undefined || !this.#isAllowed(node, waiting)) continue;
      const victims = this.#victimsOn(node.metadata.name, waiting, isGuaranteed, own?.value ?? 0);
      if (victims.length > 0 && hasRoom(accountWithout(account, victims), revision))
        return { kind: 'Room', node: node.metadata.name };
    }
    return undefined;
  }

  /** Replicas there that rank below and may leave together: of each workload as many as its limit allows. */
  #victimsOn(
    node: string,
    { tenant, replica }: Waiting,
    isGuaranteed: boolean,
    priority: number,
  ): readonly LiveCharge[] {
    const left = new Map<string, number>();
    return [...this.#book.chargesOnNode(node)].filter(({ key, charge }) => {
      const { workload = '', revision = '' } = charge;
      const isOwn = charge.tenant === tenant && workload === replica.spec.workload;
      if (isOwn || !canLeave(this.#cell, key)) return false;
      const isBorrowed = charge.rank === 'Borrowed';
      const spec = this.#cell.object('WorkloadRevision', charge.tenant, revision)?.spec;
      const value =
        this.#cell.object('PriorityClass', undefined, spec?.priorityClassName ?? 'default')?.spec.value ?? 0;
      if (isGuaranteed !== isBorrowed && priority <= value) return false;
      if (!isGuaranteed && !isBorrowed) return false;
      if (isGuaranteed && isBorrowed) return true;
      const limited = `${charge.tenant}/${workload}`;
      const more = left.get(limited) ?? this.#disruptionsLeft(charge.tenant, workload);
      left.set(limited, more - 1);
      return more > 0;
    });
  }

  #disruptionsLeft(tenant: string, workload: string): number {
    const spec = this.#cell.object('Workload', tenant, workload)?.spec;
    const disrupted = this.#cell.workloadAccount(tenant, workload)?.disrupted ?? 0;
    return (spec?.disruption?.maxUnavailable ?? 1) - disrupted;
  }

  /** Whether a node takes it once all have left that leave already, but for those that a hold awaits. */
  #mayWait(waiting: Waiting): boolean {
    return this.#nodes.some((node) => {
      const account = this.#accountOf(node);
      if (account === undefined || !this.#isAllowed(node, waiting)) return false;
      const leaving = [...this.#book.chargesOnNode(node.metadata.name)].filter(({ key }) =>
        this.#isLeaving(key),
      );
      return leaving.length > 0 && hasRoom(accountWithout(account, leaving), waiting.revision);
    });
  }

  #isLeaving(key: string): boolean {
    const place = placeOf(key);
    const { status } = (place && this.#cell.object('Replica', place.tenant, place.name)) ?? {};
    if (place?.kind !== 'Replica' || status?.stage !== 'Releasing') return false;
    const [tenant = '', hold = ''] = status.awaitedBy?.split('/') ?? [];
    return this.#cell.object('Reservation', tenant, hold)?.status?.state !== 'Held';
  }

  /**
   * Whether enough members find places one after the other. Not judged: a gang that has tried before, which backs off; one
   * beside another that reserves; one whose members have rules about neighbours.
   */
  #gangFit(tenant: string, { metadata, spec, status }: Gang): Fit | undefined {
    const isReserving = [...this.#cell.objects('Gang')].some((gang) => gang.status?.state === 'Reserving');
    if (isReserving || (status?.state ?? 'Waiting') !== 'Waiting' || (status?.attempts ?? 0) > 0)
      return undefined;
    const members = [...this.#cell.objects('Replica', tenant)].filter(
      (replica) => replica.spec.gang === metadata.name && replica.status?.stage === 'Queued',
    );
    if (members.length < spec.minAvailable) return undefined;
    const accounts = new Map(this.#nodes.map((node) => [node.metadata.name, this.#accountOf(node)]));
    let last = '';
    for (const replica of members.slice(0, spec.minAvailable)) {
      const revision = this.#cell.object('WorkloadRevision', tenant, replica.spec.revision)?.spec;
      if (revision === undefined || hasNeighbourRules(revision)) return undefined;
      const waiting: Waiting = { replica, tenant, revision };
      const node = this.#nodes.find(
        (one) => this.#isAllowed(one, waiting) && hasRoom(accounts.get(one.metadata.name), revision),
      );
      const account = accounts.get(node?.metadata.name ?? '');
      if (node === undefined || account === undefined) return undefined;
      last = node.metadata.name;
      accounts.set(last, accountWith(account, waiting));
    }
    return this.#isGrantedToAll(tenant, members.slice(0, spec.minAvailable))
      ? { kind: 'Gang', node: last }
      : undefined;
  }

  #isGrantedToAll(tenant: string, members: readonly Replica[]): boolean {
    const account = this.#cell.tenantAccount(tenant);
    if (account?.grant === undefined) return false;
    const more = members.reduce((sum, { spec }) => {
      const revision = this.#cell.object('WorkloadRevision', tenant, spec.revision)?.spec;
      const { ports: _, ...amounts } = revision?.template.resources ?? {};
      return addAmounts(sum, addAmounts(amountOf(amounts), { replicas: 1 }));
    }, {});
    return firstOver(account.used, more, account.grant.most, 'isUnlimited') === undefined;
  }

  #holdFit(waiting: Waiting, name: string): Fit | undefined {
    const { tenant, replica } = waiting;
    const hold = this.#cell.object('Reservation', tenant, name);
    if (hold?.status?.state !== 'Held' || (hold.status.awaits ?? []).length > 0) return undefined;
    const { node } = hold.spec;
    const isOpen =
      brokenNodeRules(this.#cell, placedOn(waiting, node)).length === 0 &&
      this.#cell.nodeEpoch(node)?.state === 'Open';
    if (!isOpen) return undefined;
    if (hold.spec.intent !== 'Gang') return { kind: 'Hold', node };
    const gang = this.#cell.object('Gang', tenant, replica.spec.gang ?? '');
    if (gang?.status?.state === 'Committed') return { kind: 'Hold', node };
    const ready = [...this.#cell.objects('Replica', tenant)].filter(({ spec, status }) => {
      const of = this.#cell.object('Reservation', tenant, status?.hold ?? '')?.status;
      return (
        spec.gang === replica.spec.gang &&
        status?.stage === 'Scheduled' &&
        of?.state === 'Held' &&
        (of.awaits ?? []).length === 0
      );
    });
    return gang?.status?.state === 'Reserving' && ready.length >= gang.spec.minAvailable
      ? { kind: 'Holds', node }
      : undefined;
  }

  /** By every rule but room. */
  #isAllowed(node: Node, waiting: Waiting): boolean {
    const isFresh =
      !waitsWhenStale(waiting) ||
      (this.facts.heard(node.metadata.name)?.ageMs ?? Number.POSITIVE_INFINITY) <=
        maxAgeMs(waiting) - ageMarginMs;
    return (
      isFresh &&
      this.#accepted(node) !== undefined &&
      isAllowedOn(this.#cell, this.#book, node, waiting) &&
      this.#areNeighboursMet(node, waiting)
    );
  }

  #accepted(node: Node): 'Place' | 'Time' | undefined {
    const account = this.#accountOf(node);
    return account && this.facts.accepted(node, account);
  }

  #wasSilent(node: Node, waiting: Waiting): boolean {
    const silentMs = this.facts.heard(node.metadata.name)?.silentMs ?? 0;
    return waitsWhenStale(waiting) && silentMs > maxAgeMs(waiting) - ageMarginMs;
  }

  /** The rules about neighbours that the scheduler alone keeps: affinity, and anti-affinity by zone across workloads. */
  #areNeighboursMet(node: Node, { tenant, replica, revision }: Waiting): boolean {
    const { affinity = [], antiAffinity = [] } = revision.placement ?? {};
    const speaks = (
      rule: NeighbourRule,
      workload: string,
      labels: Readonly<Record<string, string>>,
    ): boolean =>
      rule.selector === undefined
        ? workload === replica.spec.workload
        : matchesLabels(labelSelectorOf(rule.selector), labels);
    const found = (rule: NeighbourRule): readonly LiveCharge[] =>
      this.#nodes
        .flatMap(({ metadata }) => [...this.#book.chargesOnNode(metadata.name)])
        .filter(({ charge }) => {
          const other = this.#cell.object('WorkloadRevision', charge.tenant, charge.revision ?? '')?.spec;
          return (
            charge.tenant === tenant && speaks(rule, charge.workload ?? '', other?.template.labels ?? {})
          );
        });
    const isNear = (rule: NeighbourRule, { charge }: LiveCharge): boolean => {
      const other = this.#nodes.find(({ metadata }) => metadata.name === charge.node);
      if (rule.topology === 'Node' || other === undefined) return charge.node === node.metadata.name;
      const isSameRegion = regionOf(other) === regionOf(node);
      return rule.topology === 'Region' ? isSameRegion : isSameRegion && zoneOf(other) === zoneOf(node);
    };
    const isMet = (rule: NeighbourRule): boolean => {
      const all = found(rule);
      const isFirst = all.length === 0 && speaks(rule, replica.spec.workload, revision.template.labels ?? {});
      return isFirst || all.some((one) => isNear(rule, one));
    };
    const isKept = (rule: NeighbourRule): boolean =>
      rule.topology === 'Node' || !found(rule).some((one) => isNear(rule, one));
    return affinity.filter(isHard).every(isMet) && antiAffinity.filter(isHard).every(isKept);
  }

  #accountOf({ metadata }: Node): NodeAccount | undefined {
    return this.#cell.nodeAccount(metadata.name);
  }
}

const isHard = ({ mode = 'Required' }: { readonly mode?: string }): boolean => mode === 'Required';

const waitsWhenStale = ({ revision: { placement, template } }: Waiting): boolean =>
  (placement?.freshness?.onStale ?? (template.execution === 'AtMostOne' ? 'Wait' : 'Bind')) === 'Wait';

const maxAgeMs = ({ revision: { placement } }: Waiting): number =>
  (placement?.freshness?.maxNodeAgeSeconds ?? 15) * 1_000;

const hasNeighbourRules = ({ placement }: WorkloadRevisionSpec): boolean =>
  [placement?.affinity, placement?.antiAffinity, placement?.spread].some((rules) => (rules ?? []).length > 0);

/** The account of a node as it would be with one more replica there. */
function accountWith(account: NodeAccount, { replica, revision }: Waiting): NodeAccount {
  const { ports = [], ...amounts } = revision.template.resources ?? {};
  const { uid } = replica.metadata;
  const devices = { ...account.claims.devices };
  for (const [name, count] of Object.entries(amounts.devices ?? {}))
    for (const id of (account.devices[name] ?? [])
      .filter((one) => devices[one] === undefined)
      .slice(0, count))
      devices[id] = uid;
  const numbers = ports.flatMap((port) => port.split(':')[1] ?? []);
  return {
    ...account,
    used: addAmounts(account.used, amountOf(amounts)),
    claims: {
      devices,
      ports: { ...account.claims.ports, ...Object.fromEntries(numbers.map((port) => [port, uid])) },
    },
  };
}
