import type { Replica, ReplicaStatus } from '../../model/kinds/replica.js';
import type { Workload } from '../../model/kinds/workload.js';
import type { WorkloadRevision } from '../../model/kinds/workload-revision.js';
import type { NodeBinding } from '../../model/node-stream.js';
import type { Objects } from '../../model/ports.js';
import { refOf } from '../../model/replica-ref.js';
import { isTerminal } from '../../model/stages.js';

/** The node whose agent has to know of a replica; undefined if none has to any more, or not yet. */
export const nodeOfReplica = ({ status }: Replica): string | undefined =>
  status === undefined || isTerminal(status.stage) ? undefined : status.binding?.node;

/** What a change must alter for the agent to be told. */
export const markOf = ({ status }: Replica): string => `${status?.stage} ${status?.intent?.operation ?? ''}`;

/** A replica as its node may know it while it has not left the endpoints: nobody has asked it to stop yet. */
export function unasked(replica: Replica): Replica {
  const { status } = replica;
  if (status === undefined) return replica;
  const { intent: _, ...rest } = status;
  const stage = status.stage === 'Releasing' ? 'Serving' : status.stage;
  return { ...replica, status: { ...rest, stage } };
}

/** A replica as its agent is told of it; undefined if it is bound to no node. */
export function bindingOf(
  objects: Pick<Objects, 'get'>,
  replica: Replica,
  withTemplate: boolean,
): NodeBinding | undefined {
  const { metadata, spec, status } = replica;
  if (status?.binding === undefined) return undefined;
  const workload = objects.get<Workload>('Workload', metadata.namespace, spec.workload);
  const revision = objects.get<WorkloadRevision>('WorkloadRevision', metadata.namespace, spec.revision);
  const { charge, intent } = status;
  return {
    replica: refOf(replica),
    ...{ workload: spec.workload, slot: spec.slot, revision: spec.revision },
    fence: status.binding.fence,
    type: workload?.spec.type ?? 'Service',
    isFenced: status.binding.isFenced === true,
    knownSince: status.binding.knownSince ?? status.binding.nodeEpoch,
    stage: status.stage,
    ...(intent !== undefined && {
      intent: {
        reason: intent.reason,
        ...(intent.graceSeconds !== undefined && { graceSeconds: intent.graceSeconds }),
      },
    }),
    ...saidOf(status),
    version: Number(metadata.resourceVersion),
    ...(charge?.devices !== undefined && { devices: charge.devices }),
    ...(charge?.ports !== undefined && { ports: charge.ports }),
    ...(withTemplate && revision !== undefined && { template: revision.spec.template }),
  };
}

/** What a new life of the agent may have to take back. */
function saidOf({ step, message, readiness }: ReplicaStatus): Pick<NodeBinding, 'said'> {
  const said = {
    ...(step && { step }),
    ...(message && { message }),
    ...(readiness?.isPassing === false && { readiness }),
  };
  return Object.keys(said).length === 0 ? {} : { said };
}
