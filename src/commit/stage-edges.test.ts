import { describe, expect, it } from 'vitest';
import type { Replica } from '../model/kinds/replica.js';
import type { Actor, Outcome } from '../model/ports.js';
import { isEdge, ownsEdge, type Stage, type StageActor, stages } from '../model/stages.js';
import { audit } from './audit.fixture.js';
import { done, openTestCell, type TestCell } from './test-cell.fixture.js';

const actorKinds: readonly Actor['kind'][] = [
  'workload-controller',
  'scheduler',
  'agent',
  'endpoints-controller',
  'repair-controller',
  'rollout',
  'drain',
  'preemption',
  'user',
  'collector',
  'detector',
  'grant-controller',
  'operator',
];

type Attempt = (cell: TestCell, replica: Replica) => Promise<Outcome<unknown>>;

/** Every operation by which this actor could try to move a replica there. */
function attempts(kind: Actor['kind'], from: Stage, to: Stage): readonly Attempt[] {
  const tries: Attempt[] = [(cell, replica) => cell.move(replica, kind, to)];
  if (kind === 'agent') tries.push((cell, replica) => cell.report(replica, to));
  if (to === 'Releasing') tries.push((cell, replica) => cell.evict(replica, kind));
  if (to === 'Released')
    tries.push(async (cell, replica) => {
      const isBound = (await cell.status(replica)).binding !== undefined;
      const leaseRevision = await cell.leaseVersion('node-n1');
      const proof = isBound
        ? ({ kind: 'FenceExpired', leaseRevision, stoodSeconds: 130 } as const)
        : { kind: 'NeverBound' as const };
      return cell.release(replica, proof, kind);
    });
  if (to === 'Scheduled')
    tries.push((cell, replica) => cell.reserve(replica, 'n1', { actor: cell.actors[kind] }));
  if (to === 'Bound') tries.push((cell, replica) => cell.bind(replica, 'n1', { actor: cell.actors[kind] }));
  if (to === 'Queued' && from === 'Scheduled')
    tries.push(async (cell, replica) => {
      const reservation = (await cell.status(replica)).hold ?? '';
      const { metadata } = await cell.record<Replica>(`/o/Reservation/shop/${reservation}`);
      return cell.releaseHold('shop', { reservation, uid: metadata.uid }, { actor: cell.actors[kind] });
    });
  return tries;
}

/** How a replica gets to each stage. */
async function bringTo(cell: TestCell, replica: Replica, stage: Stage): Promise<void> {
  const agent = async (...reported: Stage[]): Promise<void> => {
    done(await cell.bind(replica, 'n1'));
    for (const next of reported) done(await cell.report(replica, next));
  };
  switch (stage) {
    case 'Admitted':
    case 'Queued':
      return;
    case 'Scheduled':
      return void done(await cell.reserve(replica, 'n1'));
    case 'Bound':
      return agent();
    case 'Starting':
      return agent('Starting');
    case 'Ready':
      return agent('Starting', 'Ready');
    case 'Serving':
      await agent('Starting', 'Ready');
      return void done(await cell.move(replica, 'endpoints-controller', 'Serving'));
    case 'Unknown':
      await agent('Starting');
      return void done(await cell.lose(replica));
    case 'Releasing':
      await agent('Starting');
      return void done(await cell.evict(replica));
    case 'Succeeded':
    case 'Failed':
      return agent(stage);
    case 'Released':
      await agent('Starting');
      done(await cell.evict(replica));
      return void done(await cell.report(replica, 'Released'));
  }
}

describe('[S6] the graph of stages', () => {
  it.each(stages)('from %s every actor takes the edges that are its own, and no others', async (from) => {
    const cell = await openTestCell({ isAudited: false });
    await cell.tenant('shop');
    await cell.node('n1', { allocatable: { cpu: '1000' } });
    const once = { template: { execution: 'AtMostOne' }, disruption: { maxUnavailable: 1_000 } };
    const web = await cell.workload('shop', 'web', { cpu: '1' }, once);
    let slots = 0;
    const fresh = async (): Promise<Replica> => {
      const stage = from === 'Admitted' ? 'Admitted' : 'Queued';
      const replica = await cell.incarnate(web, String((slots += 1)), 1, { stage });
      // An expired fence closes the epoch of the node: it registers again.
      await cell.node('n1', { allocatable: { cpu: '1000' } });
      await bringTo(cell, replica, from);
      return replica;
    };
    const still = await fresh();
    let taken = 0;
    for (const to of stages)
      for (const kind of actorKinds) {
        if (to === from) continue;
        const isOwned = ownsEdge(kind as StageActor, from, to);
        const outcomes: Outcome<unknown>[] = [];
        for (const attempt of attempts(kind, from, to))
          outcomes.push(await attempt(cell, isOwned ? await fresh() : still));
        const committed = outcomes.filter((outcome) => outcome.kind === 'Committed');
        const title = `${from} to ${to} by ${kind}: ${JSON.stringify(outcomes)}`;
        // By one operation alone: what has one of its own cannot be had by another.
        expect(committed, title).toHaveLength(isOwned ? 1 : 0);
        taken += committed.length;
        if (isOwned) continue;
        for (const outcome of outcomes)
          expect(outcome, title).toMatchObject({
            kind: 'Rejected',
            reason: expect.stringMatching(
              isEdge(from, to)
                ? /^(NotOwner|AlreadyBound)$/
                : /^(NoSuchEdge|NotOwner|ReplicaChanged|AlreadyBound)$/,
            ) as string,
          });
        expect((await cell.status(still)).stage, title).toBe(from);
      }
    const owned = stages.flatMap((to) => actorKinds.filter((kind) => ownsEdge(kind as StageActor, from, to)));
    expect(taken).toBe(owned.length);
    expect(await audit(cell.store)).toEqual([]);
  });
});
