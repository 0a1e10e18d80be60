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

/** A defect for each entry of the table of cures: the change does not wake what is parked under the reason. */
type ForgottenCure = { [R in ParkReason]: `wake.${R}.${ChangeCuring<R>}` }[ParkReason];

class GangsForgetCures extends GangDriver {
  override cured(): void {}
}
class GangsForgetHolds extends GangDriver {
  override changed(): void {}
}
class HeldForget extends HeldReplicas {
  override changed(): boolean {
    return false;
  }
}

/**
 * The wake-ups of replicas that wait outside the queue. `GangDriver.stateChanged` is left out: without it a gang looks
 * again one second later, because the room that another gang gives back wakes it as well.
 */
const others = {
  'gang.cured': { Gangs: GangsForgetCures },
  'gang.hold': { Gangs: GangsForgetHolds },
  hold: { Held: HeldForget },
} as const satisfies Record<string, Partial<TermShape>>;

export type OtherWake = keyof typeof others;
export type WakeDefectName = ForgottenCure | `wake.${OtherWake}`;

const otherWakes = Object.keys(others) as readonly OtherWake[];

export const wakeDefectNames: readonly WakeDefectName[] = [
  ...Object.entries(changesThatCure).flatMap(([reason, changes]) =>
    // The entries of the table, joined as the type says.
    changes.map((change) => `wake.${reason}.${change}` as ForgottenCure),
  ),
  ...otherWakes.map((wake) => `wake.${wake}` as const),
];

/** A scheduling term that forgets to wake what waits. */
export function termForgetting(name: WakeDefectName): TermShape {
  const other = otherWakes.find((wake) => name === `wake.${wake}`);
  if (other !== undefined) return { ...wholeTerm, ...others[other] };
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
