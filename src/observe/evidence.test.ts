import { describe, expect, it } from 'vitest';
import { type Deed, deeds, evidenceTable, type Observer, permit, permits, type Signal } from './evidence.js';

const signals = Object.keys(evidenceTable) as Signal[];
const allDeeds = Object.keys(deeds) as Deed[];
const observers: readonly Observer[] = [
  ...(['detector', 'repair-controller', 'endpoints-controller', 'agent'] as const),
  ...(['scheduler', 'rollout', 'everyone'] as const),
];

describe('the table of evidence', () => {
  it('gives leave to what it allows, and stops whoever asks for more', () => {
    let allowed = 0;
    for (const signal of signals)
      for (const observer of observers)
        for (const deed of allDeeds) {
          // As if the compiler had not been asked.
          const ask = (): unknown => permit(observer, signal as never, deed);
          if (!permits(observer, signal, deed)) expect(ask).toThrow(/does not allow/);
          else {
            expect(ask()).toEqual({ deed, signal });
            allowed += 1;
          }
        }
    expect(allowed).toBe(30);
  });

  it('does not compile for a controller that would act on a signal that does not allow it', () => {
    expect(permit('repair-controller', 'fenceExpired', 'release').deed).toBe('release');
    // @ts-expect-error an expired lease never says that anything stopped
    expect(() => permit('repair-controller', 'leaseExpired', 'release')).toThrow(/does not allow/);
    // @ts-expect-error a late heartbeat says nothing about what runs there
    expect(() => permit('repair-controller', 'lateHeartbeat', 'callUnknown')).toThrow(/does not allow/);
    // @ts-expect-error many silent nodes are no reason to replace anything
    expect(() => permit('repair-controller', 'manySilent', 'replace')).toThrow(/does not allow/);
    // @ts-expect-error readiness never restarts anything
    expect(() => permit('agent', 'readinessFailed', 'restartThere')).toThrow(/does not allow/);
    // @ts-expect-error the gate is the detector's
    expect(() => permit('repair-controller', 'lateHeartbeat', 'closeGate')).toThrow(/does not allow/);
  });

  it.each<[Signal, Deed]>([
    ['lateHeartbeat', 'callUnknown'],
    ['leaseExpired', 'release'],
    ['noReport', 'release'],
    ['manySilent', 'replace'],
    ['heartbeat', 'callUnknown'],
  ])('never lets %s decide to %s, whoever asks', (signal, deed) => {
    for (const observer of observers) expect(permits(observer, signal, deed)).toBe(false);
  });

  it('names a deed of every observer for every signal, but for those that allow nothing', () => {
    for (const signal of signals) {
      const count = Object.values(evidenceTable[signal].may).flat().length;
      if (signal !== 'readinessLow') expect(count, signal).toBeGreaterThan(0);
    }
  });
});
