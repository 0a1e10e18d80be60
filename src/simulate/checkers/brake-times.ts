import type { Region } from '../../model/kinds/region.js';
import type { Replica } from '../../model/kinds/replica.js';
import { nodeLeaseName } from '../../model/records.js';
import { CellView, placeOf } from './cell-view.js';
import type { CellState, Commit, CommittedChange, SafetyChecker, Violation } from './checker.js';
import { SilentNodes } from './silent-nodes.js';
import { tooEarly } from './too-early.js';
import { appendedTransitions, type ReplicaChange, replicaChanges } from './transitions.js';

/** Repair gives nothing up for a shorter silence: by then a leader knows whether other nodes are silent too. */
const togetherMs = 29_000;
/** Where repair is slow, one replica is given away in so long. */
const slowMs = 2_000;
/** A write may be committed so much later than it was decided, and the next write at once. */
const writeMs = 1_200;

/**
 * [S6] Where so many nodes are silent that repair stops, nothing is given away for as long as the brake holds and lingers.
 * Where repair is slow, one replica is given away every two seconds. Repair gives nothing away for a silence of less than 29 s.
 */
export class BrakeTimes implements SafetyChecker {
  readonly rule = 'S6';
  checked = 0;
  readonly #nodes = new SilentNodes();
  /** By zone: when each replica was given away since repair became slow there. */
  readonly #slow = new Map<string, number[]>();

  onCommit(commit: Commit, state: CellState): readonly Violation[] {
    const cell = new CellView(state);
    const messages: string[] = [];
    for (const change of replicaChanges(commit)) {
      const node = change.before?.binding?.node;
      if (node === undefined || !isGivenAway(change)) continue;
      const leaseMs = (cell.lease(nodeLeaseName(node))?.durationSeconds ?? 0) * 1_000;
      messages.push(...this.#wrong(change.key, node, leaseMs, commit.atMs));
    }
    for (const change of commit.changes) messages.push(...this.#wrongEasing(change, commit.atMs));
    this.#nodes.onCommit(commit);
    return messages.map((message) => ({ rule: this.rule, revision: state.revision, message }));
  }

  whole(): readonly Violation[] {
    return [];
  }

  #wrong(key: string, node: string, leaseMs: number, atMs: number): readonly string[] {
    this.checked += 1;
    const what = `${key} was given away on ${node}`;
    const brake = this.#nodes.brakeAt(node, atMs);
    return [
      // Otherwise it is given away although its node is heard of: that has other deadlines.
      ...(this.#nodes.hasStood(node, atMs, leaseMs)
        ? tooEarly(`${what} for a silence`, this.#nodes.silenceMs(node, atMs), togetherMs)
        : []),
      ...(brake === 'Stop' ? [`${what}, where so many nodes are silent that repair is stopped`] : []),
      ...this.#tooFast(what, node, brake === 'Slow', atMs),
    ];
  }

  /** A region that says no longer that repair stops there, although its nodes have not been heard of for long enough. */
  #wrongEasing({ key, before, after }: CommittedChange, atMs: number): readonly string[] {
    const place = placeOf(key);
    if (place?.part !== 's' || place.kind !== 'Region' || !isStopped(before) || isStopped(after)) return [];
    this.checked += 1;
    const held = this.#nodes.nodesIn(place.name).filter((node) => this.#nodes.brakeAt(node, atMs) === 'Stop');
    return held.length === 0
      ? []
      : [
          `${key} says that repair goes on around ${held.join(', ')}, where so many nodes are silent that it is stopped`,
        ];
  }

  #tooFast(what: string, node: string, isSlow: boolean, atMs: number): readonly string[] {
    const zone = this.#nodes.zoneOf(node);
    const given = isSlow ? (this.#slow.get(zone) ?? []).filter((ms) => ms >= this.#nodes.termMs) : [];
    given.push(atMs);
    this.#slow.set(zone, given);
    const [firstMs = atMs] = given;
    const neededMs = (given.length - 1) * slowMs - writeMs;
    return isSlow && neededMs > 0
      ? tooEarly(`${what} as number ${given.length} where repair is slow,`, atMs - firstMs, neededMs)
      : [];
  }
}

/** Whether repair let another replica take the slot, without the word of anybody who knows. A rival gives other reasons. */
function isGivenAway(change: ReplicaChange): boolean {
  const isReleased = (appendedTransitions(change) ?? []).some(
    ({ to, reason }) => to === 'Released' && (reason === 'FenceExpired' || reason === 'JournalExpired'),
  );
  return isReleased || (isReplaceable(change.after) && !isReplaceable(change.before));
}

const isStopped = (value: unknown): boolean =>
  (value as Pick<Region, 'status'> | undefined)?.status?.conditions?.some(
    ({ type, status, reason }) =>
      type === 'Braked' && status === 'True' && /(Cell|Region|Zone)Stop/.test(reason ?? ''),
  ) === true;

const isReplaceable = (status: Replica['status']): boolean =>
  status?.conditions?.some(({ type, status: is }) => type === 'Replaceable' && is === 'True') === true;
