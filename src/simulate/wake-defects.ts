import { GangDriver } from '../propose/gang-driver.js';
import { HeldReplicas } from '../propose/held-replicas.js';
import {
  allCures,
  type ChangeCuring,
  changesThatCure,
  type Cure,
  type ParkReason,
} from '../propose/queue/cures.js';
import { type TermShape, wholeTerm } from '../propose/term-shape.js';

/** A reason that a change is forgotten to cure, for each entry of the table of cures. */
type ForgottenCure = { [R in ParkReason]: `wake.${R}.${ChangeCuring<R>}` }[ParkReason];

class GangsForgetCures extends GangDriver {
  override cured(): void {}
}
class GangsForgetStates extends GangDriver {
  override stateChanged(): void {}
}
class GangsForgetHolds extends GangDriver {
  override changed(): void {}
}
class HeldForget extends HeldReplicas {
  override changed(): boolean {
    return false;
  }
}

/** What wakes those that wait outside the queue. */
const others = {
  'wake.gang.cured': { Gangs: GangsForgetCures },
  'wake.gang.state': { Gangs: GangsForgetStates },
  'wake.gang.hold': { Gangs: GangsForgetHolds },
  'wake.hold': { Held: HeldForget },
} as const satisfies Record<string, Partial<TermShape>>;

export type WakeDefectName = ForgottenCure | keyof typeof others;

const forgottenCures = Object.entries(changesThatCure).flatMap(([reason, changes]) =>
  // The entries of the table, joined as the type says.
  changes.map((change) => `wake.${reason}.${change}` as ForgottenCure),
);

export const wakeDefectNames: readonly WakeDefectName[] = [
  ...forgottenCures,
  ...(Object.keys(others) as (keyof typeof others)[]),
];

/** A scheduling term that forgets to wake what waits. */
export function termForgetting(name: WakeDefectName): TermShape {
  if (name in others) return { ...wholeTerm, ...others[name as keyof typeof others] };
  const [, reason, change] = name.split('.');
  const without = (cure: Cure): Cure =>
    cure.change === change ? { ...cure, reasons: cure.reasons.filter((one) => one !== reason) } : cure;
  return {
    ...wholeTerm,
    cures: {
      ofRecord: (...record) => allCures.ofRecord(...record).map(without),
      ofEasing: (...easing) => allCures.ofEasing(...easing).map(without),
      ofTime: () => without(allCures.ofTime()),
    },
  };
}
