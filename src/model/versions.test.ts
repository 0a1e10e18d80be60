import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Versions } from './versions.js';

const bases = fc.integer({ min: 0, max: 2 ** 40 });
const revisions = fc.integer({ min: 0, max: 2 ** 40 });

describe('versions', () => {
  it('[S11] of an object resume before its revision, of a whole state after it', () => {
    fc.assert(
      fc.property(bases, revisions, (base, revision) => {
        const versions = new Versions(base);
        expect(versions.completeRevision(versions.ofObject(revision))).toBe(revision - 1);
        expect(versions.completeRevision(versions.upTo(revision))).toBe(revision);
        expect(versions.revisionOf(versions.ofObject(revision))).toBe(revision);
        expect(versions.revisionOf(versions.upTo(revision))).toBe(revision);
      }),
    );
  });

  it('of objects and states are in the order in which they come about', () => {
    fc.assert(
      fc.property(bases, revisions, revisions, (base, one, other) => {
        const versions = new Versions(base);
        expect(versions.ofObject(one)).toBeLessThan(versions.upTo(one));
        expect(versions.upTo(one) < versions.ofObject(other)).toBe(one < other);
      }),
    );
  });

  it('never shrink in a cell that an earlier release made', () => {
    fc.assert(
      fc.property(bases, revisions, (base, revision) => {
        const versions = new Versions(base);
        expect(versions.ofObject(revision)).toBeGreaterThanOrEqual(versions.earlierOfObject(revision));
      }),
    );
  });
});
