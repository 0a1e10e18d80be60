import { type EpochPair, epochPairs } from '../model/operations.js';

/** The check of every epoch that an operation compares: from the table of operations, so that none is left out. */
export type EpochCheckName = `epoch.${EpochPair}`;
export const epochCheckNames: readonly EpochCheckName[] = epochPairs.map(
  (pair): EpochCheckName => `epoch.${pair}`,
);

/**
 * The checks of the authority by name. All are on, always; the simulator switches one off at a time to show that
 * its checkers would notice (`berth simulate --mutants`). A check without a name here cannot be shown to matter.
 */
export const checkNames = [
  // Who acts: under which epoch, and whether the move is theirs.
  ...epochCheckNames,
  'lease.released',
  'owner.edge',
  'owner.lease',
  'owner.lease.node',
  'owner.operation',
  'owner.report.node',
  'report.journal',
  'owner.lease.take',
  'stage.edge',
  'stage.from',
  'operation.repeated',
  // What bind and reserve check about the replica.
  'bind.uid',
  'bind.alreadyBound',
  'bind.stage',
  'bind.slot',
  'bind.lostCopy',
  'bind.hold',
  'bind.hold.owner',
  'bind.hold.awaits',
  'bind.hold.offer',
  'bind.gang',
  // What they check about the node and the tenant.
  'bind.gate',
  'bind.region',
  'bind.zone',
  'bind.tenant',
  'bind.residency',
  'bind.tenancy',
  'bind.selector',
  'bind.daemon',
  'bind.taints',
  'bind.unschedulable',
  'bind.deleted',
  'bind.drain',
  'bind.antiAffinity',
  'bind.antiAffinity.others',
  'bind.spread',
  'bind.pool',
  'bind.fence',
  'bind.capacity',
  'bind.devices',
  'bind.ports',
  'bind.quota',
  // What each posting adds or takes.
  'post.node.used',
  'post.node.claims',
  'post.node.revisions',
  'post.node.epoch',
  'post.tenant.used',
  'post.tenant.borrowed',
  'post.workload',
  'unpost.node',
  'unpost.tenant',
  'unpost.workload',
  'post.lost',
  // Slots, holds, evictions, gangs, leases.
  'incarnate.workload',
  'incarnate.previous',
  'incarnate.atMostOne',
  'incarnate.lostCopy',
  'incarnate.owner',
  'incarnate.lost',
  'incarnate.number',
  'incarnate.name',
  'evict.disruption',
  // The limit itself: without it one more is disrupted than may be.
  'evict.last',
  'evict.slot',
  'reserve.rank',
  'reserve.awaits',
  'reserve.victim',
  'hold.once',
  'release.fence',
  'release.attestation',
  'release.window',
  'release.closeEpoch',
  'release.contract',
  'release.journal',
  'release.journalWindow',
  'release.neverBound',
  'attest.closeEpoch',
  'fence.sound',
  'fence.lowered',
  'fence.settled',
  'gang.holds',
  'gang.count',
  // The same of a hold that expires.
  'gang.expired',
  'gang.committed',
  'gang.edge',
  'gang.emptied',
  'forget.ended',
  'forget.slot',
  'forget.lost',
  'forget.kept',
  'publish.seen',
  'publish.leaving',
  'withdraw.seen',
  'withdraw.asked',
  'grant.limit',
  'unknown.superseded',
] as const;

export type CheckName = (typeof checkNames)[number];

export class Checks {
  constructor(private readonly off?: CheckName) {}

  has(name: CheckName): boolean {
    return name !== this.off;
  }
}

/**
 * Checks that are not switched off alone, and why. Behind each of them another one refuses the same: only the reason
 * given would change, which is for unit tests to see. They are kept because each says clearly what is wrong, and
 * because two are safer than one.
 */
export const untriedChecks: Readonly<Partial<Record<CheckName, string>>> = {
  'stage.edge': 'an edge that is not in the graph has no owner (owner.edge)',
  'bind.alreadyBound':
    'what is bound is no longer Queued or Scheduled (bind.stage), and the graph has no such edge',
  'bind.stage': 'the graph has no edge to Bound from elsewhere (stage.edge, owner.edge)',
  'bind.slot':
    'a replica that waits is the one its slot names, because no other is made before it ends (incarnate.previous)',
  'bind.hold': 'a replica is Scheduled only while its hold is Held: both move in one transaction (hold.once)',
  'bind.tenant': 'a tenant goes only once nothing is left in it, for nobody else takes its finalizer off',
  'incarnate.owner':
    'a workload keeps its name until its replicas have ended, and one that is gone is not replaced by repair; a unit test does',
  'incarnate.name':
    'no two slots have a name in common (replicaName), and one begins anew only once nothing of it is left (forget.kept)',
  'forget.lost':
    'what is lost has not ended and is still there, so it is counted among those that are kept (forget.kept)',
  'withdraw.asked': 'the endpoints controller withdraws only what shall stop; a unit test does',
  'report.journal': 'an agent that knows nothing of a replica says nothing of it; a unit test does',
  'release.neverBound': 'who releases what never ran may not release what was bound (owner.edge)',
};
