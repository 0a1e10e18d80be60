import { describe, expect, it } from 'vitest';
import type { WorkloadRevision } from '../../model/kinds/workload-revision.js';
import { objectOf } from '../../model/fake-objects.fixture.js';
import { revisionOf } from '../workload/revision-of.js';
import { workloadOf } from '../workload/workload.fixture.js';
import { judgeRevisions } from './judge-revisions.js';

const revision = (name: string, number: number, owner = 'uid-web'): WorkloadRevision =>
  objectOf('WorkloadRevision', 't', name, {
    metadata: {
      ownerReferences: [
        { apiVersion: 'berth.dev/v1', kind: 'Workload', name: 'web', uid: owner, controller: true },
      ],
    },
    spec: { workload: 'web', revision: number },
  }) as unknown as WorkloadRevision;
const five = [1, 2, 3, 4, 5].map((number) => revision(`r${number}`, number));
const names = (revisions: readonly WorkloadRevision[]): string[] =>
  revisions.map(({ metadata }) => metadata.name);
const nobody = (): boolean => false;

describe('the revisions that nobody needs', () => {
  it('are those that are not among the newest two and that no replica refers to', () => {
    expect(names(judgeRevisions(workloadOf(), five, nobody))).toEqual(['r1', 'r2', 'r3']);
    expect(names(judgeRevisions(workloadOf(), five, (name) => name === 'r2'))).toEqual(['r1', 'r3']);
  });

  it('are not the one that is asked for, rolled out or being rolled out, however old', () => {
    const current = revision(revisionOf(workloadOf()).name, 1);
    const status = { currentRevision: 'r2', updateRevision: 'r3' };
    const workload = { ...workloadOf(), status };
    expect(names(judgeRevisions(workload, [current, ...five.slice(1)], nobody))).toEqual([]);
  });

  it('are all of a workload that is gone, as soon as its replicas are', () => {
    expect(names(judgeRevisions(undefined, five, nobody))).toHaveLength(5);
    expect(names(judgeRevisions(undefined, five, (name) => name === 'r1'))).not.toContain('r1');
    const former = revision('old', 9, 'uid-former');
    expect(names(judgeRevisions(workloadOf(), [former], nobody))).toEqual(['old']);
  });
});
