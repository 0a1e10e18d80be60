import { amountOf, countOf, eachResource } from '../../model/amount.js';
import { type Epoch, sameEpoch, shownEpoch } from '../../model/records.js';
import { stateBefore } from './before-state.js';
import { CellView, placeOf } from './cell-view.js';
import { ChargeBook } from './charge-book.js';
import type { LiveCharge } from './charges.js';
import type { CellState, Commit, SafetyChecker, Violation } from './checker.js';
import { isNewHold } from './holds.js';
import { brokenNeighbourRules } from './neighbour-rules.js';
import { brokenNodeRules, type Placed, regionOf, zoneOf } from './node-rules.js';
import { replicaChanges } from './transitions.js';

interface Judged extends Placed {
  readonly key: string;
  readonly nodeEpoch: Epoch | undefined;
  /** Its place was taken by a hold, and judged then: its neighbours have had to mind it since. */
  readonly wasHeld: boolean;
}

/**
 * [S4] A replica is bound, or held for, only where its hard rules allow, on the specs as they are at that
 * revision. A rule about commits: what was allowed then may look wrong now, so there is nothing to see from scratch.
 */
export class PlacementRules implements SafetyChecker {
  readonly rule = 'S4';
  checked = 0;
  readonly #book = new ChargeBook();

  onCommit(commit: Commit, state: CellState): readonly Violation[] {
    this.#book.apply(commit, state);
    const judged = [...this.#bound(commit, state), ...this.#held(commit, state)];
    if (judged.length === 0) return [];
    const cell = new CellView(state);
    const before = new CellView(stateBefore(commit, state));
    return judged.flatMap((placed) => {
      this.checked += 1;
      return [
        ...this.#brokenAlone(before, cell, placed),
        ...this.#brokenTogether(cell, placed),
        ...brokenGang(before, cell, placed),
      ].map((message): Violation => ({
        rule: this.rule,
        revision: state.revision,
        message: `${placed.key} on ${placed.node}: ${message}`,
      }));
    });
  }

  whole(): readonly Violation[] {
    return [];
  }

  /** Broken both before and after the commit: another operation of the same transaction may have come after. */
  #brokenAlone(before: CellView, after: CellView, placed: Judged): readonly string[] {
    const brokenIn = (cell: CellView): readonly string[] => [
      ...brokenNodeRules(cell, placed),
      ...brokenEpoch(cell, placed),
      ...(placed.wasHeld ? this.#brokenOffer(cell, placed) : []),
    ];
    const now = brokenIn(after);
    return now.length === 0 || brokenIn(before).length === 0 ? [] : now;
  }

  #brokenTogether(cell: CellView, placed: Judged): readonly string[] {
    const own = this.#book.charge(placed.key);
    const isSelf = ({ key, uid }: LiveCharge): boolean =>
      key === placed.key || (own?.awaits.includes(uid) ?? false);
    const node = cell.object('Node', undefined, placed.node);
    const isElsewhere =
      own !== undefined &&
      node !== undefined &&
      (own.charge.region !== regionOf(node) || own.charge.zone !== zoneOf(node));
    return [
      ...(placed.wasHeld ? [] : brokenNeighbourRules(cell, this.#book, placed, isSelf)),
      ...(isElsewhere
        ? [
            `it is charged in ${own.charge.region}/${own.charge.zone}, the node is in ${regionOf(node)}/${zoneOf(node)}`,
          ]
        : []),
    ];
  }

  /** What was held is still there: a node may have come back without a device, or with less than is committed. */
  #brokenOffer(cell: CellView, { key, node }: Judged): readonly string[] {
    const charge = this.#book.charge(key)?.charge;
    const account = cell.nodeAccount(node);
    if (charge === undefined || account === undefined) return [];
    const gone = Object.entries(charge.devices ?? {}).flatMap(([name, ids]) =>
      ids.filter((id) => account.devices[name]?.includes(id) !== true),
    );
    const over = [...eachResource(amountOf(charge.amounts))].filter(
      ([resource, count]) =>
        count > 0 && (countOf(account.used, resource) ?? 0) > (countOf(account.allocatable, resource) ?? 0),
    );
    return [
      ...gone.map((id) => `device ${id} that was held is not offered any more`),
      ...over.map(([resource]) => `more ${resource} is committed than the node offers`),
    ];
  }

  #bound(commit: Commit, state: CellState): readonly Judged[] {
    const cell = new CellView(state);
    return replicaChanges(commit).flatMap(({ key, tenant, name, before, after }) => {
      const spec = cell.object('Replica', tenant, name)?.spec;
      const binding = after?.binding;
      if (before?.binding !== undefined || binding === undefined || spec === undefined) return [];
      const { workload, slot, revision } = spec;
      return [
        {
          key,
          tenant,
          workload,
          slot,
          revision,
          node: binding.node,
          nodeEpoch: binding.nodeEpoch,
          wasHeld: before?.stage === 'Scheduled',
        },
      ];
    });
  }

  #held(commit: Commit, state: CellState): readonly Judged[] {
    const cell = new CellView(state);
    return commit.changes.flatMap(({ key }) => {
      const place = placeOf(key);
      if (place?.part !== 's' || place.kind !== 'Reservation') return [];
      const hold = cell.object('Reservation', place.tenant, place.name);
      if (!isNewHold(commit, place.tenant, place.name) || hold?.status?.state !== 'Held') return [];
      const owner = cell.object('Replica', place.tenant, hold.spec.owner.name)?.spec;
      if (owner === undefined) return [];
      const { workload, slot, revision } = owner;
      const { nodeEpoch } = hold.status;
      return [
        {
          key,
          tenant: place.tenant,
          workload,
          slot,
          revision,
          node: hold.spec.node,
          nodeEpoch,
          wasHeld: false,
        },
      ];
    });
  }
}

function brokenEpoch(cell: CellView, { node, nodeEpoch }: Judged): readonly string[] {
  const current = cell.nodeEpoch(node);
  if (current === undefined) return ['the node has never registered'];
  const broken = current.state === 'Open' ? [] : [`epoch ${shownEpoch(current.epoch)} of the node is closed`];
  return nodeEpoch === undefined || sameEpoch(current.epoch, nodeEpoch)
    ? broken
    : [
        ...broken,
        `it was placed under epoch ${shownEpoch(nodeEpoch)}, the node is at ${shownEpoch(current.epoch)}`,
      ];
}

/** A member of a gang is bound only once enough of them hold. */
function brokenGang(before: CellView, after: CellView, { key, tenant }: Judged): readonly string[] {
  const place = placeOf(key);
  if (place?.kind !== 'Replica') return [];
  const gang = after.object('Replica', tenant, place.name)?.spec.gang;
  if (gang === undefined) return [];
  const states = [before, after].map((cell) => cell.object('Gang', tenant, gang)?.status?.state);
  return states.includes('Committed')
    ? []
    : [`its gang ${gang} is ${states[1] ?? 'not there'}, not Committed`];
}
