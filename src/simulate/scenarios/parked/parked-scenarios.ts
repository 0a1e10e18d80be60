import assert from 'node:assert';
import { type ParkReason, parkReasons } from '../../../propose/queue/cures.js';
import type { Scenario } from '../../scenario.js';
import type { WakeDefectName } from '../../wake-defects.js';
import { parkedScenario, type PlacedRow } from './parked.js';
import type { Rows } from './parked-row.js';
import { cureRows, otherRows } from './parked-rows.js';

type Family = 'room' | 'grant' | 'place' | 'node' | 'neighbours' | 'silence' | 'gang';

/** Which scenario a reason is a part of. */
const familyOf: Readonly<Record<ParkReason, Family>> = {
  ...{ NodeFull: 'room', DeviceTaken: 'room', PortTaken: 'room' },
  ...{ QuotaExceeded: 'grant', GrantExhausted: 'grant', PoolReserved: 'grant', ReplicaChanged: 'grant' },
  ...{ RegionNotAllowed: 'place', ZoneNotAllowed: 'place', ResidencyNotAllowed: 'place' },
  ...{ TenancyNotAllowed: 'place', SelectorMismatch: 'place', Tainted: 'place' },
  ...{ FenceUnsupported: 'node', DriverMissing: 'node', PluginRefused: 'node' },
  ...{ GateClosed: 'silence', NodeStale: 'silence', NodeChanged: 'node', NoNode: 'node' },
  ...{ AntiAffinity: 'neighbours', AffinityUnmet: 'neighbours', SpreadViolated: 'neighbours' },
};

const about: Readonly<Record<Family, string>> = {
  room: 'a replica waits for cores, a device or a port',
  grant: 'a replica waits for what its tenant, its class or its revision do not allow',
  place: 'a replica waits for a node that is where and for whom it has to be',
  node: 'a replica waits for a node that is there and able to run it',
  silence: 'a replica waits for what was to come from a node that is not heard of',
  neighbours: 'a replica waits for its neighbours to come or go',
  gang: 'a gang waits for room, and holds wait to be complete',
};

interface FamilyRow extends PlacedRow {
  readonly family: Family;
  /** The forgotten wake-up that this row shows. */
  readonly defect: WakeDefectName;
}

const queueRows = parkReasons.flatMap((reason) => {
  // The type of the table names exactly these entries.
  const ofReason = cureRows[reason] as Readonly<Record<string, Rows>>;
  return Object.entries(ofReason).flatMap(([change, some]) =>
    some.map((row): FamilyRow => ({
      ...{
        family: row.lastsMs === undefined ? familyOf[reason] : 'silence',
        defect: `wake.${reason}.${change}` as WakeDefectName,
      },
      ...{ tells: row.tells ?? reason, row },
      under: row.isGang === true ? [] : [reason, ...(row.also ?? [])],
    })),
  );
});
const otherRowsPlaced = Object.entries(otherRows).flatMap(([wake, some]) =>
  some.map((row): FamilyRow => ({
    ...{ family: 'gang', defect: `wake.${wake}` as WakeDefectName },
    ...{ tells: row.tells ?? 'NodeFull', row, under: row.isGang === true ? [] : ['NodeFull'] },
  })),
);
const all: readonly FamilyRow[] = [...queueRows, ...otherRowsPlaced];
const rowsOf = (family: Family): readonly FamilyRow[] => all.filter((one) => one.family === family);

const byFamily = new Map(
  (Object.keys(about) as Family[]).map((family) => [
    family,
    parkedScenario(`parked-${family}`, about[family], rowsOf(family)),
  ]),
);

/** With every reason that can park, and every change that cures it. */
export const parkedScenarios: readonly Scenario[] = [...byFamily.values()];

/** The scenario in which a wake-up that is forgotten is missed, and its seeds from one on. */
export function seedsMissing(defect: WakeDefectName): {
  readonly scenario: Scenario;
  readonly seedAt: (turn: number, from: number) => number;
} {
  const family = all.find((one) => one.defect === defect)?.family;
  const scenario = family && byFamily.get(family);
  assert(family !== undefined && scenario !== undefined, `${defect} has no row`);
  const rows = rowsOf(family);
  const showing = rows.flatMap((one, index) => (one.defect === defect ? [index] : []));
  return {
    scenario,
    seedAt: (turn, from) =>
      Math.ceil(from / rows.length) * rows.length +
      Math.floor(turn / showing.length) * rows.length +
      (showing[turn % showing.length] ?? 0),
  };
}
