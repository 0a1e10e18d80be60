import { fenceContract } from '../../model/fence-contract.js';
import { isInJournal } from '../../model/journal.js';
import type { Node } from '../../model/kinds/node.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { Workload } from '../../model/kinds/workload.js';
import type { Actor, Authority, ReleaseProof } from '../../model/ports.js';
import {
  type Epoch,
  leaseKey,
  type LeaseRecord,
  nodeLeaseName,
  sameEpoch,
  slotKey,
  type SlotRecord,
} from '../../model/records.js';
import { refOf } from '../../model/replica-ref.js';
import type { Reach } from './server.js';
import type { Life, SimProcess } from './sim-process.js';
import type { World } from './world.js';

const everyMs = 1_000;

/**
 * A careless rival of the repair controller, under whatever epoch the real one has: releases without proof, too early
 * and what does not stop by itself, and replaces what must not be. And an operator who attests what is true.
 */
export function startRivalRepairer(world: World): SimProcess {
  return world.addProcess('rival-repairer', async (life) => {
    const reach = await world.reach(life);
    const seen = new Map<string, { readonly version: number; readonly sinceMs: number }>();
    let term: Epoch | undefined;
    for (;;) {
      await life.env.sleep(everyMs);
      const lease = recordOf<LeaseRecord>(reach, leaseKey('repair-controller'));
      // Careless about proofs, honest about time: it is counted from the start of the term that it acts in.
      if (lease !== undefined && (term === undefined || !sameEpoch(term, lease.epoch))) {
        term = lease.epoch;
        seen.clear();
      }
      for (const { metadata } of reach.objects.list('Lease')) {
        const version = Number(metadata.resourceVersion);
        if (seen.get(metadata.name)?.version !== version)
          seen.set(metadata.name, { version, sinceMs: world.time.nowMs });
      }
      if (lease === undefined || world.faults.isStopped) continue;
      const actor: Actor = {
        ...{ kind: 'repair-controller', name: 'rival' },
        lease: { name: 'repair-controller', epoch: lease.epoch },
      };
      for (const replica of reach.objects.list<Replica>('Replica')) {
        const stood = seen.get(nodeLeaseName(replica.status?.binding?.node ?? ''));
        if (stood === undefined || replica.status?.stage !== 'Unknown') continue;
        const stoodSeconds = (world.time.nowMs - stood.sinceMs) / 1_000;
        await meddle(world, life, reach, actor, replica, { ...stood, stoodSeconds }).catch(() => undefined);
      }
    }
  });
}

/** A parsed boundary: only the authority writes under these keys. */
const recordOf = <T>({ cache }: Reach, key: string): T | undefined =>
  cache.record(key)?.value as T | undefined;

async function meddle(
  world: World,
  { env }: Life,
  reach: Reach,
  actor: Actor,
  replica: Replica,
  lease: { readonly version: number; readonly stoodSeconds: number },
): Promise<void> {
  const { authority, objects } = reach;
  const { random } = env;
  const { name, uid } = replica.metadata;
  const { binding } = replica.status ?? {};
  const node = objects.get<Node>('Node', undefined, binding?.node ?? '');
  const release = (proof: ReleaseProof): ReturnType<Authority['release']> =>
    authority.release({
      ...{ actor, replica: refOf(replica), proof, reason: 'Guessed' },
      operation: `rival/${uid}/${env.uuid()}`,
    });
  const { version: leaseRevision, stoodSeconds } = lease;
  if (random.chance(0.1)) await replace(reach, replica);
  if (random.chance(0.05))
    await world.mustReject(
      'S5',
      'a fence whose window ends before what is permitted',
      authority.setFence({
        ...{ actor: { kind: 'operator', name: 'operator' }, operation: `fence/${env.uuid()}` },
        fence: { ...fenceContract, permitSeconds: fenceContract.windowSeconds },
      }),
    );
  if (binding?.isFenced !== true && random.chance(0.2))
    await world.mustReject(
      'S5',
      `the release of ${name}, which does not stop by itself, by a fence`,
      release({ kind: 'FenceExpired', leaseRevision, stoodSeconds: 1_000 }),
    );
  if (random.chance(0.1)) await release({ kind: 'FenceExpired', leaseRevision, stoodSeconds });
  if (random.chance(0.1))
    await release({ kind: 'FenceExpired', leaseRevision: leaseRevision - 1, stoodSeconds: 1_000 });
  if (random.chance(0.1) && node?.status?.attestation === undefined) await release({ kind: 'Attested' });
  const { journalSince } = node?.status ?? {};
  const isKnown = binding !== undefined && journalSince !== undefined && isInJournal(binding, journalSince);
  if (isKnown && random.chance(0.2))
    await world.mustReject(
      'S5',
      `the release of ${name}, which the journal of its node knows, by the end of an earlier journal`,
      release({ kind: 'JournalExpired', journalSince, stoodSeconds: 1_000 }),
    );
  if (journalSince !== undefined && random.chance(0.1)) {
    // What was seen of the lease says nothing of the journal; and a journal before this one is over.
    await release({ kind: 'JournalExpired', journalSince, stoodSeconds });
    const before = { ...journalSince, number: journalSince.number - 1 };
    await release({ kind: 'JournalExpired', journalSince: before, stoodSeconds: 1_000 });
  }
  const isIdle = world.isIdle.get(binding?.node ?? '')?.() === true;
  if (!isIdle || node?.status?.epoch === undefined || !random.chance(0.05)) return;
  await authority.attest({
    ...{ actor: { kind: 'operator', name: 'operator' }, node: node.metadata.name },
    ...{ nodeEpoch: node.status.epoch, reason: 'looked', forSeconds: 60, operation: `attest/${env.uuid()}` },
  });
}

/** Has the next incarnation made as if it were the workload controller, which waits for repair's word. */
async function replace(reach: Reach, replica: Replica): Promise<void> {
  const { objects, authority } = reach;
  const { namespace: tenant = '' } = replica.metadata;
  const { workload: name, slot, revision } = replica.spec;
  const workload = objects.get<Workload>('Workload', tenant, name);
  const lease = recordOf<LeaseRecord>(reach, leaseKey('workload-controller'));
  const record = recordOf<SlotRecord>(reach, slotKey(tenant, name, slot));
  if (workload === undefined || lease === undefined || record?.replicaUid !== replica.metadata.uid) return;
  await authority.incarnate({
    actor: {
      ...{ kind: 'workload-controller', name: 'rival' },
      lease: { name: 'workload-controller', epoch: lease.epoch },
    },
    ...{ tenant, workload: name, workloadUid: workload.metadata.uid, slot, revision },
    ...{ incarnation: record.incarnation + 1, stage: 'Queued', reason: 'Lost' },
    operation: `replace/${replica.metadata.uid}`,
  });
}
