import { Versions } from '../model/versions.js';
import { simulatedVersions } from './checkers/simulated-versions.js';

export const watchDefectNames = ['watch.afterGroup'] as const;
export type WatchDefectName = (typeof watchDefectNames)[number];

/** A watch that resumes at the version of an object goes on after its revision: the rest of the group is lost. */
class VersionsAfterGroup extends Versions {
  override completeRevision(version: number): number {
    return this.revisionOf(version);
  }
}

/** The versions of a cell with each defect. */
export const versionsWith: Readonly<Record<WatchDefectName, Versions>> = {
  'watch.afterGroup': new VersionsAfterGroup(0),
};

export const wholeVersions = simulatedVersions;
