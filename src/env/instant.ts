/**
 * Three clocks, three types. An instant is a number of milliseconds at run time, but the type is opaque:
 * arithmetic on it does not compile, and an instant of one clock is never accepted where another is asked for.
 */

declare const clock: unique symbol;

/** Never goes back, does not count suspend, has no meaning outside this process. For durations and deadlines. */
export interface MonotonicInstant {
  readonly [clock]: 'monotonic';
}
/** Never goes back and counts suspend: what a fence is measured on (DESIGN §8). Shared by all processes of a machine. */
export interface BootInstant {
  readonly [clock]: 'boot';
}
/** What people read. It may jump; no decision compares it with another machine's. */
export interface WallInstant {
  readonly [clock]: 'wall';
}
export type Instant = MonotonicInstant | BootInstant | WallInstant;

// The only places where a number becomes an instant or the reverse.
const asNumber = (instant: Instant): number => instant as unknown as number;
export const monotonicInstant = (ms: number): MonotonicInstant => ms as unknown as MonotonicInstant;
export const bootInstant = (ms: number): BootInstant => ms as unknown as BootInstant;
export const wallInstant = (ms: number): WallInstant => ms as unknown as WallInstant;

/** Milliseconds from `from` to `to`; negative when `to` is the earlier one. */
export function msBetween(from: MonotonicInstant, to: MonotonicInstant): number;
export function msBetween(from: BootInstant, to: BootInstant): number;
export function msBetween(from: WallInstant, to: WallInstant): number;
export function msBetween(from: Instant, to: Instant): number {
  return asNumber(to) - asNumber(from);
}

export function plusMs<T extends Instant>(instant: T, ms: number): T {
  return (asNumber(instant) + ms) as unknown as T;
}

/** Milliseconds since 1970, for printing and for the wire. */
export const wallMs = (instant: WallInstant): number => asNumber(instant);
export function wallTimestamp(instant: WallInstant): string {
  const ms = asNumber(instant);
  if (ms !== lastShown.ms) lastShown = { ms, text: new Date(ms).toISOString() };
  return lastShown.text;
}
// A write asks several times within a millisecond, and making the text costs more than most of what else it does.
let lastShown = { ms: Number.NaN, text: '' };
/** Milliseconds since boot, for handing a deadline to another process of the same machine. */
export const bootMs = (instant: BootInstant): number => asNumber(instant);
