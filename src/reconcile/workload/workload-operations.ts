import { BerthError, isBerthError } from '../../model/errors.js';
import type { Gang } from '../../model/kinds/gang.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { Workload } from '../../model/kinds/workload.js';
import type { WorkloadRevision } from '../../model/kinds/workload-revision.js';
import type { BerthObject, OwnerReference } from '../../model/object.js';
import type { Outcome } from '../../model/ports.js';
import { refOf } from '../../model/replica-ref.js';
import type { Acting } from '../runtime/acting.js';
import { failuresEvidence } from './failures.js';
import { type EndStep, replicasFinalizer, type WorkloadStep } from './plan-workload.js';
import { canonical } from './revision-of.js';
import { workloadLabel } from './workload-status.js';

type StepOf<K extends WorkloadStep['kind']> = Extract<WorkloadStep, { kind: K }>;
type ReplicaStep = StepOf<'Incarnate' | 'Queue' | 'Release' | 'Evict' | 'Forget'>;
type ObjectStep = Exclude<WorkloadStep, ReplicaStep>;

export const controllerUidOf = ({ metadata }: BerthObject): string | undefined =>
  metadata.ownerReferences?.find((owner) => owner.controller === true)?.uid;

export function isReplicaStep(step: WorkloadStep): step is ReplicaStep {
  return ['Incarnate', 'Queue', 'Release', 'Evict', 'Forget'].includes(step.kind);
}

const evidenceOf = ({ metadata }: Workload, failures: number): Readonly<Record<string, string>> => ({
  generation: String(metadata.generation),
  [failuresEvidence]: String(failures),
});

const ofFirsts = new WeakMap<Workload, Readonly<Record<string, string>>>();

/** Of the first incarnations of a workload: the same for all, and made once. */
function noFailures(workload: Workload): Readonly<Record<string, string>> {
  let evidence = ofFirsts.get(workload);
  if (evidence === undefined) {
    evidence = evidenceOf(workload, 0);
    ofFirsts.set(workload, evidence);
  }
  return evidence;
}

/** A step on a replica, as the authority is asked for it. The id follows from the step: sent again, it is the same. */
export function sendStep(acting: Acting, workload: Workload, step: ReplicaStep): Promise<Outcome<unknown>> {
  const { authority, actor } = acting;
  const { namespace: tenant = '', name, uid } = workload.metadata;
  switch (step.kind) {
    case 'Incarnate': {
      // Written out: a hundred thousand are made, and a spread makes each larger and slower.
      const input = {
        actor,
        tenant,
        workload: name,
        workloadUid: uid,
        slot: step.slot,
        incarnation: step.incarnation,
        revision: step.revision,
        stage: step.stage,
        operation: `incarnate/${uid}/${step.slot}/${step.incarnation}`,
        reason: step.reason,
        evidence:
          step.failuresBefore === 0 ? noFailures(workload) : evidenceOf(workload, step.failuresBefore),
      };
      return authority.incarnate(step.gang === undefined ? input : { ...input, gang: step.gang });
    }
    case 'Queue':
      return authority.move({
        ...{ actor, replica: refOf(step.replica), from: 'Admitted', to: 'Queued', reason: 'Resumed' },
        operation: `queue/${step.replica.metadata.uid}`,
        evidence: { generation: String(workload.metadata.generation) },
      });
    case 'Release':
    case 'Evict':
    case 'Forget':
      return sendEnd(acting, step);
  }
}

/** How a replica that is not wanted any more goes, whoever finds that out. */
export function sendEnd({ authority, actor }: Acting, step: EndStep): Promise<Outcome<unknown>> {
  const replica = refOf(step.replica);
  switch (step.kind) {
    case 'Release': {
      const operation = `release/${replica.uid}/${step.reason}`;
      return authority.release({
        actor,
        replica,
        proof: { kind: 'NeverBound' },
        reason: step.reason,
        operation,
      });
    }
    case 'Evict':
      return authority.evict({
        ...{ actor, replica, reason: step.reason, operation: `evict/${replica.uid}/${step.reason}` },
      });
    case 'Forget':
      return authority.forget({
        ...{ actor, replica, dropSlot: step.dropSlot, operation: `forget/${replica.uid}` },
      });
  }
}

/** A step on an object. Throws what the objects throw; a Conflict where the workload is not what it was. */
export async function takeObjectStep(
  { objects }: Acting,
  workload: Workload,
  step: ObjectStep,
): Promise<void> {
  const { namespace, name, uid } = workload.metadata;
  switch (step.kind) {
    case 'AddFinalizer':
    case 'RemoveFinalizer': {
      const isAdded = step.kind === 'AddFinalizer';
      await objects.modify<Workload>('Workload', namespace, name, 'spec', (live) => {
        const isDeleting = live.metadata.deletionTimestamp !== undefined;
        if (live.metadata.uid !== uid || isAdded === isDeleting)
          throw new BerthError('Conflict', `workload ${name} is not what it was: look again`);
        const others = (live.metadata.finalizers ?? []).filter((one) => one !== replicasFinalizer);
        const finalizers = isAdded ? [...others, replicasFinalizer] : others;
        return { ...live, metadata: { ...live.metadata, finalizers } };
      });
      return;
    }
    case 'CreateRevision':
      await createOwned<WorkloadRevision>(
        objects,
        workload,
        'WorkloadRevision',
        step.name,
        step.spec,
        (there) => {
          const { revision: _, ...common } = there.spec;
          const { revision: __, ...wanted } = step.spec;
          return canonical(common) === canonical(wanted);
        },
      );
      return;
    case 'CreateGang':
      await createOwned<Gang>(objects, workload, 'Gang', name, step.spec, () => true);
      return;
    case 'ChangeGang':
      await objects.modify<Gang>('Gang', namespace, name, 'spec', (live) =>
        controllerUidOf(live) === uid ? { ...live, spec: { ...step.spec } } : undefined,
      );
      return;
    case 'DeleteGang':
      await objects.delete('Gang', namespace, name, step.uid).catch((error: unknown) => {
        // It has gone already.
        if (!isBerthError(error, 'NotFound')) throw error;
      });
  }
}

/** Creates what belongs to a workload. That it is there already is fine if it is the same and belongs to it. */
async function createOwned<T extends BerthObject>(
  objects: Acting['objects'],
  workload: Workload,
  kind: string,
  name: string,
  spec: object,
  isSame: (there: T) => boolean,
): Promise<void> {
  const { namespace, uid } = workload.metadata;
  const owner: OwnerReference = {
    ...{ apiVersion: workload.apiVersion, kind: 'Workload', name: workload.metadata.name, uid },
    controller: true,
  };
  const labels = { [workloadLabel]: workload.metadata.name };
  const metadata = { name, labels, ownerReferences: [owner] };
  try {
    await objects.create<T>(kind, namespace, { apiVersion: 'berth.dev/v1', kind, metadata, spec });
  } catch (error) {
    if (!isBerthError(error, 'AlreadyExists')) throw error;
    const there = objects.get<T>(kind, namespace, name);
    if (there === undefined || (controllerUidOf(there) === uid && isSame(there))) return;
    throw new BerthError(
      'Conflict',
      `${kind} ${name} is there and is not what workload ${workload.metadata.name} needs`,
    );
  }
}

/** A replica that belongs to this very workload, not to one that had its name before. */
export const isOwnReplica = (workload: Workload, replica: Replica): boolean =>
  controllerUidOf(replica) === workload.metadata.uid;
