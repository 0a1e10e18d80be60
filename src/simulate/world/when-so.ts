import type { World } from './world.js';

const lookMs = 500;

/** Calls back once, as soon as something is so: for a scenario whose next step follows from a state, not from a time. */
export function whenSo(world: World, isSo: () => boolean, then: () => void): void {
  if (isSo()) return then();
  world.wire.after(lookMs, () => whenSo(world, isSo, then));
}
