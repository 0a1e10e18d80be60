import { describe, expect, it } from 'vitest';
import { realEnv } from '../env/real.js';
import type { Replica } from '../model/kinds/replica.js';
import { objectKey, statusKey } from '../model/records.js';
import { CellState } from './cell-state.js';
import type { PendingReplica } from './contract.js';
import type { GangDriver } from './gang-driver.js';
import { HeldReplicas } from './held-replicas.js';
import { Intake } from './intake.js';
import { allCures } from './queue/cures.js';
import { PendingQueue } from './queue/pending-queue.js';
import { MapRecords } from './small-cell.fixture.js';

const { random } = realEnv();
const backoff = { firstMs: 100, mostMs: 1_000 };
const noGangs: Pick<GangDriver, 'remove'> = { remove: () => undefined };

function opened(isOwn: (tenant: string, workload: string) => boolean = () => true) {
  const records = new MapRecords();
  const queue = new PendingQueue({ random, backoff, turnMax: 10, onReturn: () => undefined });
  const held = new HeldReplicas({ records, random, backoff });
  const joined: PendingReplica[] = [];
  const intake = new Intake({
    ...{ records, queue, held, isOwn, cell: new CellState(), onNews: () => undefined },
    ...{ gangs: noGangs as GangDriver, cures: allCures },
    onJoin: (_, replica) => joined.push(replica),
  });
  let nowMs = 0;
  records.follow((key, value) => intake.take(key, value, nowMs++), new AbortController().signal);
  const object = (
    name: string,
    more: { uid?: string; revision?: string; deletionTimestamp?: string } = {},
  ) => {
    const { uid = `uid-${name}`, revision = 'web-1', deletionTimestamp } = more;
    const metadata = { name, namespace: 'a', uid, ...(deletionTimestamp && { deletionTimestamp }) };
    records.put({
      [objectKey('Replica', 'a', name)]: { metadata, spec: { workload: 'web', slot: '0', revision } },
    });
  };
  const status = (name: string, of: NonNullable<Replica['status']> | undefined) =>
    records.put({ [statusKey('Replica', 'a', name)]: of && { status: of } });
  const revision = (name: string, spec: object) =>
    records.put({ [objectKey('WorkloadRevision', 'a', name)]: { spec: { template: {}, ...spec } } });
  return { records, queue, held, joined, object, status, revision };
}

describe('Intake', () => {
  it('queues a replica once both its records are there, whichever comes first, and once only', () => {
    const { queue, joined, object, status } = opened();
    object('r1');
    expect(queue.size).toBe(0);
    status('r1', { stage: 'Queued' });
    status('r2', { stage: 'Queued' });
    expect(queue.size).toBe(1);
    object('r2');
    status('r2', { stage: 'Queued', conditions: [] });
    expect(joined).toEqual([
      { tenant: 'a', name: 'r1', uid: 'uid-r1', classKey: 'a/web-1', workload: 'web', slot: '0', sinceMs: 1 },
      expect.objectContaining({ name: 'r2', sinceMs: 3 }),
    ]);
  });

  it('forgets one that is bound, asked to go, gone, or another one under its name', () => {
    const { queue, object, status } = opened();
    for (const name of ['r1', 'r2', 'r3', 'r4']) {
      object(name);
      status(name, { stage: 'Queued' });
    }
    status('r1', { stage: 'Bound' });
    object('r2', { deletionTimestamp: '2026-01-01T00:00:00Z' });
    status('r3', undefined);
    object('r4', { uid: 'another' });
    expect(['uid-r1', 'uid-r2', 'uid-r3', 'uid-r4', 'another'].map((uid) => queue.stateOf(uid))).toEqual([
      ...[undefined, undefined, undefined, undefined],
      'active',
    ]);
  });

  it('moves one between the queue and the held as it gets a hold and loses it', () => {
    const { queue, held, object, status } = opened();
    object('r1');
    status('r1', { stage: 'Queued' });
    status('r1', { stage: 'Scheduled', hold: 'h' });
    expect([queue.size, held.size]).toEqual([0, 1]);
    status('r1', { stage: 'Queued' });
    expect([queue.size, held.size]).toEqual([1, 0]);
    status('r1', { stage: 'Scheduled', hold: 'h' });
    status('r1', { stage: 'Bound' });
    expect([queue.size, held.size]).toEqual([0, 0]);
  });

  it('[L2] queues anew what was away and waits again, which nobody was told', () => {
    const { queue, held, object, status } = opened();
    const at = (operation: string) => ({ transitions: [{ operation }] as never });
    object('r1');
    status('r1', { stage: 'Queued', ...at('incarnate') });
    expect(queue.take(0)?.replicas).toHaveLength(1);
    status('r1', { stage: 'Queued', ...at('incarnate') });
    expect(queue.stateOf('uid-r1')).toBe('out');
    status('r1', { stage: 'Queued', ...at('expire') });
    expect(queue.stateOf('uid-r1')).toBe('active');
    status('r1', { stage: 'Scheduled', hold: 'h', ...at('reserve') });
    status('r1', { stage: 'Scheduled', hold: 'other', ...at('reserve again') });
    expect([queue.size, held.size, held.changed('/s/Reservation/a/other')]).toEqual([0, 1, true]);
  });

  it('leaves alone what is of another scheduler', () => {
    const { queue, object, status } = opened((_, workload) => workload !== 'web');
    object('r1');
    status('r1', { stage: 'Queued' });
    expect(queue.size).toBe(0);
  });

  it('knows a class by its objects as they are now', () => {
    const { records, queue, object, status, revision } = opened();
    const queued = (name: string, of: string): string | undefined => {
      object(name, { revision: of });
      status(name, { stage: 'Queued' });
      return queue.lotOf(`uid-${name}`);
    };
    records.put({ [objectKey('PriorityClass', undefined, 'high')]: { spec: { value: 9 } } });
    expect(queued('r1', 'web-1')).toBe('a/web-1');
    expect([...queue.counts().keys()]).toEqual([0]);
    status('r1', { stage: 'Bound' });
    revision('web-1', { priorityClassName: 'high' });
    expect(queued('r2', 'web-1')).toBe('a/web-1');
    expect([...queue.counts().keys()]).toEqual([9]);
    records.put({ [objectKey('Workload', 'a', 'web')]: { spec: { type: 'Daemon' } } });
    expect(queued('r3', 'web-1')).toBe('a/web-1 0');
    expect(queued('r4', 'web-2')).toBe('a/web-2 0');
  });
});
