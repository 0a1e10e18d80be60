import type { Replica } from '../../model/kinds/replica.js';
import type { WorkloadRevision } from '../../model/kinds/workload-revision.js';
import { plus } from '../../model/plus.js';
import type { Incarnate } from '../../model/ports.js';
import { objectKey, replicaName, slotKey, type SlotRecord, statusKey } from '../../model/records.js';
import { isTerminal } from '../../model/stages.js';
import { moveToLost } from '../accounts.js';
import { checkActor, checkEdge } from '../act.js';
import type { Context } from '../context.js';
import { already, commitAt, type Decide, reject, type Rejection } from '../decision.js';
import type { Draft } from '../draft.js';
import { refusedBeside } from '../lost-copies.js';
import { findReplica, stepBy, withTransition } from '../replica-moves.js';
import {
  putStatus,
  slotRecord,
  type Stored,
  storedReplica,
  storedRevision,
  storedTenant,
  storedWorkload,
  replicaStatus,
} from '../stored.js';

/** On every replica until it has ended: deleting it is a wish, and what it is charged with is never forgotten. */
export const endedFinalizer = 'berth.dev/ended';
const workloadLabel = 'berth.dev/workload';

/** [S12] The next incarnation of a slot, if the one before it has ended or may be replaced. */
export const incarnate =
  (context: Context, input: Incarnate): Decide<{ readonly replica: Replica }> =>
  (draft) => {
    const { tenant, slot, incarnation, operation } = input;
    const name = replicaName(input.workload, slot, incarnation);
    const record = slotRecord(draft, tenant, input.workload, slot);
    if (record?.operation === operation && context.checks.has('operation.repeated')) {
      const stored = storedReplica(draft, tenant, name);
      const status = replicaStatus(draft, tenant, name);
      if (stored !== undefined && status !== undefined)
        return already({ replica: assembled({ ...stored, status }, draft.version) });
    }
    const refused =
      checkActor(context, draft, 'incarnate', input.actor) ??
      checkEdge(context, 'workload-controller', 'none', input.stage);
    if (refused !== undefined) return refused;
    const workload = storedWorkload(draft, tenant, input.workload);
    if (
      workload === undefined ||
      (workload.metadata.uid !== input.workloadUid && context.checks.has('incarnate.workload'))
    )
      return reject('ReplicaChanged', `workload ${tenant}/${input.workload} is gone`);
    if (workload.metadata.deletionTimestamp !== undefined)
      return reject('ReplicaChanged', `workload ${tenant}/${input.workload} is being deleted`);
    const owner = storedTenant(draft, undefined, tenant);
    if (owner === undefined || owner.metadata.deletionTimestamp !== undefined)
      return reject(
        'ReplicaChanged',
        `tenant ${tenant} is ${owner === undefined ? 'gone' : 'being deleted'}`,
      );
    const revision = storedRevision(draft, tenant, input.revision);
    if (revision === undefined || revision.spec.workload !== input.workload)
      return reject('ReplicaChanged', `there is no revision ${input.revision} of workload ${input.workload}`);
    if (incarnation !== (record?.incarnation ?? 0) + 1 && context.checks.has('incarnate.number'))
      return reject(
        'SlotTaken',
        `slot ${slot} of ${input.workload} is at incarnation ${record?.incarnation ?? 0}, so ${incarnation} cannot be next`,
      );
    const lost =
      record === undefined ? undefined : replacedReplica(context, draft, input, revision, record, name);
    if (lost !== undefined && 'kind' in lost) return lost;
    const taken = nameTaken(context, draft, tenant, name);
    if (taken !== undefined) return taken;

    const first: SlotRecord = { incarnation, replica: name, replicaUid: context.uid, operation };
    draft.put(
      slotKey(tenant, input.workload, slot),
      record === undefined ? first : next(first, record, lost),
    );
    const common = sharedMetadata(revision, input.workloadUid);
    const stored = {
      apiVersion: 'berth.dev/v1',
      kind: 'Replica',
      // Written out: what is spread in has its fields in a list of its own, and every replica keeps one.
      metadata: {
        name,
        namespace: tenant,
        uid: context.uid,
        generation: 1,
        creationTimestamp: context.at,
        labels: common.labels,
        ownerReferences: common.ownerReferences,
        finalizers: common.finalizers,
      },
      spec: specOf(input),
    };
    const by = stepBy(input.actor);
    const step = {
      to: input.stage,
      ...by,
      reason: input.reason,
      operation,
      evidence: evidenceBy(by.evidence ?? none, input.evidence ?? none),
    };
    const transitions = withTransition(context, draft, undefined, [], step);
    const status =
      lost === undefined
        ? { stage: input.stage, transitions }
        : { stage: input.stage, transitions, conditions: [mayRunTwice(lost.replica, context.at)] };
    draft.put(objectKey('Replica', tenant, name), stored);
    draft.put(statusKey('Replica', tenant, name), { status });
    return commitAt((version) => new Incarnated(stored, status, version));
  };

const specOf = ({ workload, slot, incarnation, revision, gang }: Incarnate): Replica['spec'] =>
  gang === undefined
    ? { workload, slot, incarnation, revision }
    : { workload, slot, incarnation, revision, gang };

const mayRunTwice = (lost: string, at: string) => ({
  type: 'MayRunTwice',
  status: 'True' as const,
  reason: 'ReplacesLost',
  message: `${lost} is lost and may still run; it is replaced because the workload allows that`,
  lastTransitionTime: at,
});

/**
 * [S7] What stands under a name is charged for: nothing is ever written over it. Read, so that its absence is guarded; its
 * status comes and goes in the same transactions, and needs no guard of its own.
 */
function nameTaken(context: Context, draft: Draft, tenant: string, name: string): Rejection | undefined {
  const stored = storedReplica(draft, tenant, name);
  if (stored === undefined || !context.checks.has('incarnate.name')) return undefined;
  const { spec, metadata } = stored;
  return reject(
    'SlotTaken',
    `the name ${name} is taken by slot ${spec.slot} of ${spec.workload} (${metadata.uid})`,
  );
}

type Evidence = Readonly<Record<string, string>>;

const none: Evidence = {};
const evidences = new WeakMap<object, { readonly ofLease: Evidence; readonly all: Evidence }>();

/** What a controller says of many it says once: they share it. */
function evidenceBy(ofLease: Evidence, more: Evidence): Evidence {
  const known = evidences.get(more);
  if (known?.ofLease === ofLease) return known.all;
  const all = plus(ofLease, more);
  evidences.set(more, { ofLease, all });
  return all;
}

interface SharedMetadata {
  readonly labels: Readonly<Record<string, string>>;
  readonly ownerReferences: NonNullable<Replica['metadata']['ownerReferences']>;
  readonly finalizers: readonly string[];
}

const finalizers = [endedFinalizer];
const shared = new WeakMap<object, SharedMetadata>();

/** What the replicas of one revision have in common, held once: there may be a hundred thousand of them. */
function sharedMetadata(revision: Stored<WorkloadRevision>, workloadUid: string): SharedMetadata {
  const known = shared.get(revision);
  if (known?.ownerReferences[0]?.uid === workloadUid) return known;
  const { workload, template } = revision.spec;
  const metadata: SharedMetadata = {
    labels: { ...template.labels, [workloadLabel]: workload },
    ownerReferences: [
      {
        apiVersion: 'berth.dev/v1',
        kind: 'Workload',
        name: workload,
        uid: workloadUid,
        controller: true,
        blockOwnerDeletion: true,
      },
    ],
    finalizers,
  };
  shared.set(revision, metadata);
  return metadata;
}

/** Controllers make many replicas and look at none of the answers: the object is put together for who does. */
class Incarnated {
  constructor(
    private readonly stored: object,
    private readonly status: object,
    private readonly version: string,
  ) {}

  get replica(): Replica {
    return assembled({ ...this.stored, status: this.status }, this.version);
  }

  toJSON(): { readonly replica: Replica } {
    return { replica: this.replica };
  }
}

/** A parsed boundary: what stands in the store was checked when it was written. */
const assembled = (replica: object, resourceVersion: string): Replica => {
  const { metadata } = replica as Replica;
  return {
    apiVersion: 'berth.dev/v1',
    kind: 'Replica',
    ...replica,
    metadata: plus(metadata, { resourceVersion }),
  } as Replica;
};

/** The record of a slot that had replicas before. */
const next = (first: SlotRecord, before: SlotRecord, lost: SlotRecord['lost']): SlotRecord => ({
  ...first,
  ...(before.lost !== undefined && { lost: before.lost }),
  ...(lost !== undefined && { lost }),
  ...(before.isDisrupted === true && { isDisrupted: true }),
  kept: (before.kept ?? 1) + 1,
});

/**
 * What becomes of the slot's last replica: nothing if it has ended; if it is lost and its workload allows a
 * replacement, it is counted as lost from now on. Everything else keeps the slot.
 */
function replacedReplica(
  context: Context,
  draft: Draft,
  input: Incarnate,
  revision: Stored<WorkloadRevision>,
  record: SlotRecord,
  replacement: string,
): SlotRecord['lost'] | Rejection | undefined {
  const { checks, at } = context;
  const { tenant, workload, slot, workloadUid } = input;
  const beside = { tenant, workload, slot, revision };
  const before = findReplica(draft, { tenant, name: record.replica, uid: record.replicaUid });
  const hasEnded = before === undefined || isTerminal(before.status.stage);
  // The last one may have ended beside a copy that is lost: that copy may run on.
  if (record.lost !== undefined && hasEnded)
    return checks.has('incarnate.lostCopy') ? refusedBeside(draft, beside, record.lost) : undefined;
  if (hasEnded || !checks.has('incarnate.previous')) return undefined;
  const taken = (why: string): Rejection => reject('SlotTaken', `slot ${slot} of ${workload}: ${why}`);
  if (before.status.stage !== 'Unknown') return taken(`${record.replica} is ${before.status.stage}`);
  const last = { replica: record.replica, replicaUid: record.replicaUid };
  const refused = checks.has('incarnate.atMostOne') ? refusedBeside(draft, beside, last) : undefined;
  if (refused !== undefined) return refused;
  if (!isOwnedBy(before.stored, workloadUid) && checks.has('incarnate.owner'))
    return taken(`${record.replica} is of a workload of that name that is gone, and has not ended`);
  if (record.lost !== undefined && checks.has('incarnate.lost'))
    return taken(`${record.lost.replica} is lost and was replaced already; one replacement at a time`);
  const { status } = before;
  const condition = {
    type: 'Superseded',
    status: 'True' as const,
    reason: 'Replaced',
    message: `${replacement} took its place while it is not known whether it runs`,
    lastTransitionTime: at,
  };
  putStatus(draft, 'Replica', tenant, record.replica, {
    ...status,
    ...(status.charge !== undefined && { charge: moveToLost(context, draft, status.charge) }),
    conditions: [...(status.conditions ?? []).filter(({ type }) => type !== 'Superseded'), condition],
  });
  return last;
}

const isOwnedBy = ({ metadata }: Stored<Replica>, workloadUid: string): boolean =>
  metadata.ownerReferences?.some(({ uid, controller }) => controller === true && uid === workloadUid) ===
  true;
