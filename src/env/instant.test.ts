import { describe, expect, expectTypeOf, it } from 'vitest';
import {
  type BootInstant,
  monotonicInstant,
  type MonotonicInstant,
  msBetween,
  plusMs,
  type WallInstant,
  wallInstant,
  wallTimestamp,
} from './instant.js';

describe('instants', () => {
  it('differ in type by their clock, so that one cannot stand in for another', () => {
    expectTypeOf<MonotonicInstant>().not.toExtend<BootInstant>();
    expectTypeOf<BootInstant>().not.toExtend<MonotonicInstant>();
    expectTypeOf<WallInstant>().not.toExtend<MonotonicInstant>();
    expectTypeOf<number>().not.toExtend<MonotonicInstant>();
    expectTypeOf<MonotonicInstant>().not.toExtend<number>();
    // The second argument must be of the first one's clock: mixing them is not even a union.
    expectTypeOf(msBetween<MonotonicInstant>)
      .parameter(1)
      .toEqualTypeOf<MonotonicInstant>();
  });

  it('are compared and moved by milliseconds', () => {
    const start = monotonicInstant(1000);
    expect(msBetween(start, plusMs(start, 250))).toBe(250);
    expect(msBetween(plusMs(start, 250), start)).toBe(-250);
    expect(wallTimestamp(wallInstant(0))).toBe('1970-01-01T00:00:00.000Z');
  });
});
