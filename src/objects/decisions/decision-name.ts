import { BerthError } from '../../model/errors.js';

/**
 * `SERVER.STAMP`: who keeps the decision, and when it was made there. A stamp is the wall clock's milliseconds and a
 * count within them in one number, so that stamps of one server never repeat and those of several sort by time, as
 * well as their clocks agree: that order is for people alone.
 */
export interface DecisionPosition {
  readonly stamp: number;
  readonly server: string;
}

const stampsPerMs = 1_024;
const digits = 11;

export const firstStampAt = (wallMs: number): number => Math.floor(wallMs) * stampsPerMs;
export const wallMsOf = (stamp: number): number => stamp / stampsPerMs;

export const decisionName = ({ server, stamp }: DecisionPosition): string =>
  `${server}.${stamp.toString(36).padStart(digits, '0')}`;

/** Undefined if no server gives out such names. */
export function positionOf(name: string): DecisionPosition | undefined {
  const at = name.lastIndexOf('.');
  const stamp = name.slice(at + 1);
  return at > 0 && stamp.length === digits && /^[0-9a-z]+$/.test(stamp)
    ? { server: name.slice(0, at), stamp: Number.parseInt(stamp, 36) }
    : undefined;
}

/** Below zero if `a` is the newer one: lists are newest first. */
export const newestFirst = (a: DecisionPosition, b: DecisionPosition): number =>
  b.stamp - a.stamp || (a.server < b.server ? 1 : a.server > b.server ? -1 : 0);

/** Where a list goes on: after the last one shown, on every server. */
export const continueAfter = ({ stamp, server }: DecisionPosition): string =>
  Buffer.from(JSON.stringify([stamp, server])).toString('base64url');

export function positionIn(token: string): DecisionPosition {
  try {
    const [stamp, server] = JSON.parse(Buffer.from(token, 'base64url').toString()) as unknown[];
    if (Number.isSafeInteger(stamp) && typeof server === 'string') return { stamp: Number(stamp), server };
  } catch {
    // Said below.
  }
  throw new BerthError(
    'BadRequest',
    'the continue token is none of a list of decisions; list from the start',
  );
}
