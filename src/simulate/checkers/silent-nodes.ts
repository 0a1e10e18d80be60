import type { Node } from '../../model/kinds/node.js';
import { nodeLeaseName } from '../../model/records.js';
import { placeOf } from './cell-view.js';
import type { Commit } from './checker.js';
import { LeaseChanges } from './lease-changes.js';
import { Terms } from './terms.js';

/** How much brakes hold back at the least, as every leader sees it. */
export type LeastBrake = 'Off' | 'Slow' | 'Stop';

// docs/repair.md: from which shares of silent nodes a brake is on, and how long it holds and lingers.
const [slowShare, stopShare, nodesMin, silentMin] = [0.3, 0.6, 3, 2];
const [holdMs, lingerMs] = [300_000, 40_000];
/** A leader counts a node as silent after so long at the latest, whatever the last arrivals of the node were. */
const silentMs = 16_000;
/** A leader looks at brakes every second, and at what it found for a second more. */
const lookMs = 2_200;

interface Known {
  readonly region: string;
  readonly zone: string;
  isDrained: boolean;
}
interface Count {
  all: number;
  silent: number;
  long: number;
}

/** How long nodes have been silent under the present leader of repair, and which brakes must be on for that. */
export class SilentNodes {
  readonly #terms = new Terms();
  readonly #leases = new LeaseChanges();
  readonly #nodes = new Map<string, Known>();
  /** By the name of a zone or region, or nothing for the cell: when so many were last silent that repair stops there. */
  readonly #stoppedMs = new Map<string, number>();

  onCommit(commit: Commit): void {
    for (const { key, after } of commit.changes) {
      const place = placeOf(key);
      if (place?.kind !== 'Node') continue;
      const known = this.#nodes.get(place.name);
      if (after === undefined) this.#nodes.delete(place.name);
      else if (place.part === 'o') {
        const { region = '', zone = '' } = (after as Node).spec;
        this.#nodes.set(place.name, { region, zone, isDrained: known?.isDrained ?? false });
      } else if (known !== undefined)
        known.isDrained = (after as Pick<Node, 'status'>).status?.drain?.state === 'Complete';
    }
    this.#leases.onCommit(commit);
    this.#terms.onCommit(commit);
    for (const [scope, count] of this.#counts(commit.atMs))
      if (asked(scope, count) === 'Stop') this.#stoppedMs.set(scope, commit.atMs);
  }

  /** When the present term of repair began. */
  get termMs(): number {
    return this.#terms.sinceMs('repair-controller');
  }

  zoneOf(node: string): string {
    const { region, zone } = this.#nodes.get(node) ?? {};
    return `${region}/${zone}`;
  }

  nodesIn(region: string): readonly string[] {
    return [...this.#nodes].filter(([, known]) => known.region === region).map(([name]) => name);
  }

  /** How long the node has been silent at the least, as every leader sees it. */
  silenceMs(node: string, atMs: number): number {
    return atMs - Math.max(this.#leases.seenMs(nodeLeaseName(node), atMs), this.termMs);
  }

  /** Whether the lease of the node has stood for so long, which no leader can have missed. */
  hasStood(node: string, atMs: number, ms: number): boolean {
    return atMs - this.#leases.lastMs(nodeLeaseName(node)) >= ms;
  }

  /** The strongest brake that is on for the node for certain. */
  brakeAt(node: string, atMs: number): LeastBrake {
    const { region, zone } = this.#nodes.get(node) ?? { region: '', zone: '' };
    const counts = this.#counts(atMs);
    const brakes = [`${region}/${zone}`, region, ''].map((scope) =>
      this.#least(scope, counts.get(scope) ?? { all: 0, silent: 0, long: 0 }, atMs),
    );
    return brakes.includes('Stop') ? 'Stop' : brakes.includes('Slow') ? 'Slow' : 'Off';
  }

  #least(scope: string, count: Count, atMs: number): LeastBrake {
    const { all, silent, long } = count;
    const now = asked(scope, count);
    if (now === 'Stop' && scope === '' && silent === all) return 'Stop';
    const stoppedMs = this.#stoppedMs.get(scope) ?? Number.NEGATIVE_INFINITY;
    // A leader that took over since then did not see the full stop.
    const lingers = stoppedMs - lookMs > this.termMs && atMs - stoppedMs < lingerMs - lookMs;
    if (now === 'Stop' || lingers) return long / all >= stopShare ? 'Slow' : 'Stop';
    const isEased = long > 0 && (silent - long) / all < slowShare;
    return isEased ? 'Off' : now;
  }

  #counts(atMs: number): ReadonlyMap<string, Count> {
    const counts = new Map<string, Count>();
    for (const [name, { region, zone, isDrained }] of this.#nodes) {
      const lastMs = this.#leases.lastMs(nodeLeaseName(name));
      if (isDrained || lastMs === Number.POSITIVE_INFINITY) continue;
      const silence = atMs - Math.max(lastMs, this.termMs);
      for (const scope of [`${region}/${zone}`, region, '']) {
        const count = counts.get(scope) ?? { all: 0, silent: 0, long: 0 };
        counts.set(scope, count);
        count.all += 1;
        if (silence >= silentMs) count.silent += 1;
        // Some leaders may count a little faster.
        if (silence >= holdMs * 0.998) count.long += 1;
      }
    }
    return counts;
  }
}

/** The brake that the share of silent nodes asks for now. */
function asked(scope: string, { all, silent }: Count): LeastBrake {
  if (scope === '' && all > 1 && silent === all) return 'Stop';
  if (all < nodesMin || silent < silentMin) return 'Off';
  return silent / all >= stopShare ? 'Stop' : silent / all >= slowShare ? 'Slow' : 'Off';
}
