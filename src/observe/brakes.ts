/**
 * Many nodes that fall silent together say more about the network, or about ourselves, than about each of them
 * (DESIGN §7). A brake then holds repair back where they are, and endpoints keep their last known members.
 */

export interface NodeSilence {
  readonly region: string;
  readonly zone: string;
  /** How long its next renewal is late; undefined: it is heard of in time. */
  readonly silentMs: number | undefined;
}

/** Off: repair as usual. Slow: at a low rate. Stop: not at all. */
export type BrakeState = 'Off' | 'Slow' | 'Stop';

export interface Brake {
  readonly state: BrakeState;
  readonly scope: 'Zone' | 'Region' | 'Cell';
  /** `REGION/ZONE`, `REGION`, or nothing for the cell. */
  readonly name: string;
  readonly silent: number;
  readonly all: number;
}

export interface BrakeRules {
  /** A zone or region with fewer nodes has no share to speak of. */
  readonly nodesMin: number;
  /** Fewer silent nodes than this are not many, whatever their share. */
  readonly silentMin: number;
  /** From this share of silent nodes on repair slows down. */
  readonly slowShare: number;
  /** From this share on it stops. */
  readonly stopShare: number;
  /**
   * But not for ever: once so many have been silent for this long, a zone or region that had stopped is repaired slowly, and
   * one that was slow as usual.
   */
  readonly holdMs: number;
  /** A brake weakens only so long after as many were last silent: those that come back come one after another. */
  readonly lingerMs: number;
}

export const usualBrakes: BrakeRules = {
  nodesMin: 3,
  silentMin: 2,
  slowShare: 0.3,
  stopShare: 0.6,
  holdMs: 300_000,
  // A lease: by then whoever comes back with the others has been heard of.
  lingerMs: 40_000,
};

export const strength: Readonly<Record<BrakeState, number>> = { Off: 0, Slow: 1, Stop: 2 };

/** The brakes of a cell at one moment. */
export class Brakes {
  constructor(private readonly byName: ReadonlyMap<string, Brake>) {}

  /** The strongest that holds a node of this zone. */
  at(region: string, zone: string): Brake {
    const found = [`${region}/${zone}`, region, ''].flatMap((name) => this.byName.get(name) ?? []);
    return found.reduce(stronger, none);
  }

  /** How many nodes of a zone are silent, and of the cell: who else was silent is evidence too. */
  silentAround(region: string, zone: string): string {
    const shown = (name: string, what: string): string => {
      const { silent, all } = this.byName.get(name) ?? none;
      return `${silent} of ${all} nodes of the ${what}`;
    };
    return `${shown(`${region}/${zone}`, 'zone')}, ${shown('', 'cell')}`;
  }

  /** Those that hold something, by name. */
  on(): readonly Brake[] {
    return [...this.byName.values()]
      .filter(({ state }) => state !== 'Off')
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }
}

const none: Brake = { state: 'Off', scope: 'Cell', name: '', silent: 0, all: 0 };
const stronger = (a: Brake, b: Brake): Brake => (strength[b.state] > strength[a.state] ? b : a);

interface Count {
  readonly scope: Brake['scope'];
  all: number;
  silent: number;
  /** Silent for longer than a brake holds. */
  long: number;
}

/** The strongest that the share of silent nodes has asked for of late, by a brake's name and what it asks for now. */
export type OfLate = (name: string, asked: BrakeState) => BrakeState;

/** Which brakes are on, from how long each node has been silent. Pure. */
export function brakesOf(
  nodes: Iterable<NodeSilence>,
  rules: BrakeRules = usualBrakes,
  ofLate: OfLate = (_, asked) => asked,
): Brakes {
  const counts = new Map<string, Count>();
  const count = (scope: Brake['scope'], name: string, silentMs: number | undefined): void => {
    let at = counts.get(name);
    if (at === undefined) {
      at = { scope, all: 0, silent: 0, long: 0 };
      counts.set(name, at);
    }
    at.all += 1;
    if (silentMs === undefined) return;
    at.silent += 1;
    if (silentMs > rules.holdMs) at.long += 1;
  };
  for (const { region, zone, silentMs } of nodes) {
    count('Zone', `${region}/${zone}`, silentMs);
    count('Region', region, silentMs);
    count('Cell', '', silentMs);
  }
  const brakes = new Map<string, Brake>();
  for (const [name, counted] of counts) {
    const { scope, all, silent } = counted;
    const asked = ofLate(name, askedBy(counted, rules));
    brakes.set(name, { state: eased(asked, counted, rules), scope, name, silent, all });
  }
  return new Brakes(brakes);
}

// If nobody at all is heard of, it is we who are cut off, however long it lasts.
const isCutOff = ({ scope, all, silent }: Count): boolean => scope === 'Cell' && all > 1 && silent === all;

/** No brake is on for ever: those that have been silent for long are gone, and say nothing about who falls silent now. */
function eased(asked: BrakeState, count: Count, { stopShare, slowShare }: BrakeRules): BrakeState {
  const { all, silent, long } = count;
  if (isCutOff(count)) return asked;
  if (asked === 'Stop') return long / all >= stopShare ? 'Slow' : 'Stop';
  return (silent - long) / all < slowShare && long > 0 ? 'Off' : asked;
}

function askedBy(count: Count, rules: BrakeRules): BrakeState {
  const { all, silent } = count;
  if (isCutOff(count)) return 'Stop';
  if (all < rules.nodesMin || silent < rules.silentMin) return 'Off';
  if (silent / all >= rules.stopShare) return 'Stop';
  return silent / all >= rules.slowShare ? 'Slow' : 'Off';
}

/** For people. */
export const shownBrake = ({ state, scope, name, silent, all }: Brake): string =>
  `${silent} of ${all} nodes of ${scope === 'Cell' ? 'the cell' : `${scope.toLowerCase()} ${name}`} are silent: repair there ${
    state === 'Stop' ? 'is stopped' : 'is slow'
  }, and endpoints keep their last known members`;
