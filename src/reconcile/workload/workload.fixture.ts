import type { Node } from '../../model/kinds/node.js';
import type { Replica, ReplicaStatus } from '../../model/kinds/replica.js';
import type { Workload } from '../../model/kinds/workload.js';
import type { WorkloadRevision } from '../../model/kinds/workload-revision.js';
import type { Stage } from '../../model/stages.js';
import { FakeObjects, objectOf } from '../../model/fake-objects.fixture.js';
import { type PlanInput, replicasFinalizer } from './plan-workload.js';
import { revisionOf } from './revision-of.js';
import { SlotIndex } from './slot-index.js';

export const workloadOf = (spec: object = {}, metadata: object = {}): Workload =>
  objectOf('Workload', 't', 'web', {
    metadata: { finalizers: [replicasFinalizer], ...metadata },
    spec: {
      ...{ type: 'Service', replicas: 1, template: { run: { process: { command: ['sleep', '1'] } } } },
      onNodeLost: { action: 'Replace', afterSeconds: 45 },
      ...spec,
    },
  }) as Workload;

export interface ReplicaShape extends Partial<Omit<ReplicaStatus, 'stage'>> {
  readonly incarnation?: number;
  readonly revision?: string;
  readonly failures?: number;
  readonly isDeleted?: boolean;
}

/** A replica of `web` in a slot, at a stage. */
export function replicaOf(slot: number | string, stage: Stage, shape: ReplicaShape = {}): Replica {
  const { incarnation = 1, revision, failures = 0, isDeleted = false, ...status } = shape;
  const first = {
    ...{ to: 'Queued', actor: 'workload-controller:x', reason: 'Wanted', revision: '1' },
    ...{ at: '2026-01-01T00:00:00Z', operation: `incarnate/uid-web/${slot}/${incarnation}` },
    evidence: { failuresBefore: String(failures) },
  };
  return objectOf('Replica', 't', `web-${slot}-${incarnation}`, {
    metadata: {
      ownerReferences: [
        { apiVersion: 'berth.dev/v1', kind: 'Workload', name: 'web', uid: 'uid-web', controller: true },
      ],
      ...(isDeleted && { deletionTimestamp: '2026-01-01T00:00:00Z' }),
    },
    spec: {
      ...{ workload: 'web', slot: String(slot), incarnation },
      revision: revision ?? revisionOf(workloadOf()).name,
    },
    status: { stage, transitions: [first], ...status },
  }) as Replica;
}

/** For a replica that is bound to a node. */
export const boundTo = (node: string): Required<Pick<ReplicaShape, 'binding'>> => ({
  binding: {
    ...{ node, nodeEpoch: { cell: 1, number: 1 }, fence: '1' },
    receipt: { snapshotRevision: '1', policyRevision: '1', operation: 'bind' },
  },
});

export const nodeOf = (name: string, spec: object = {}, labels: object = {}): Node =>
  objectOf('Node', undefined, name, {
    metadata: { labels },
    spec: { region: 'eu', zone: 'a', tenants: [], unschedulable: false, ...spec },
  }) as Node;

function slotsOf(replicas: readonly Replica[]) {
  const objects = new FakeObjects();
  for (const replica of replicas) objects.put(replica);
  const index = new SlotIndex(objects);
  index.start(new AbortController().signal);
  return index.slotsOf('t/web', 'uid-web');
}

export function inputOf(
  workload: Workload,
  replicas: readonly Replica[] = [],
  more: Partial<Omit<PlanInput, 'workload' | 'slots'>> = {},
): PlanInput {
  const { name, spec } = revisionOf(workload);
  const revision = objectOf('WorkloadRevision', 't', name, { spec: { ...spec, revision: 1 } });
  return {
    workload,
    slots: slotsOf(replicas),
    nodes: [],
    endedMs: () => Number.POSITIVE_INFINITY,
    revisions: [revision as WorkloadRevision],
    gang: undefined,
    ...more,
  };
}
