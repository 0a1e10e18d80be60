/**
 * How a revision of the store becomes a resourceVersion, and the other way round. No other code adds or subtracts
 * versions and revisions.
 *
 * A transaction of the store may change several objects, all at the same revision. A client that is cut off in the middle of
 * such a group resumes at the version of the last object it was told, and must be told the others. A client that
 * resumes at the version of a list or a bookmark has seen all of that revision, and must be told nothing twice.
 * So each revision `r` has two versions:
 *
 * - `base + 2r` is the version of an object that was last changed at `r`. A watch that resumes there tells all changes of
 *   `r` again.
 * - `base + 2r + 1` is the version of everything up to `r`: of a list, a bookmark, a snapshot.
 *
 * An earlier release gave `base + r`. `2r` is never less than `r`, so the versions of a cell that an earlier release
 * made do not shrink, and its base stays valid.
 */
export class Versions {
  constructor(private readonly base: number) {}

  /** The version of an object that was last changed at this revision. */
  ofObject(revision: number): number {
    return this.base + 2 * revision;
  }

  /** The version of a state that has every change up to this revision. */
  upTo(revision: number): number {
    return this.base + 2 * revision + 1;
  }

  /** The revision that a state must have reached to be as new as this version. */
  revisionOf(version: number): number {
    return Math.floor((version - this.base) / 2);
  }

  /** The last revision whose changes a client at this version has seen to the end: a watch goes on after it. */
  completeRevision(version: number): number {
    return Math.floor((version - this.base - 1) / 2);
  }

  /** The version that an earlier release gave to an object that was last changed at this revision. */
  earlierOfObject(revision: number): number {
    return this.base + revision;
  }
}
