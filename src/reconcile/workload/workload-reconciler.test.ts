import { describe, expect, it } from 'vitest';
import { realEnv } from '../../env/real.js';
import { FakeObjects } from '../../model/fake-objects.fixture.js';
import type { Workload } from '../../model/kinds/workload.js';
import type { WorkloadRevision } from '../../model/kinds/workload-revision.js';
import { ObjectIndex } from '../../model/object-index.js';
import type { Authority, Incarnate } from '../../model/ports.js';
import type { Acting } from '../runtime/acting.js';
import { stepsMax } from './plan-workload.js';
import { SlotIndex } from './slot-index.js';
import { workloadKeyOf } from './workload-keys.js';
import { WorkloadReconciler } from './workload-reconciler.js';
import { replicaOf, workloadOf } from './workload.fixture.js';

function open(replicas: number) {
  const objects = new FakeObjects();
  const made: string[] = [];
  const { signal } = new AbortController();
  const authority = {
    incarnate: ({ slot, incarnation }: Incarnate) => {
      made.push(slot);
      objects.put(replicaOf(slot, 'Queued', { incarnation }));
      return Promise.resolve({ kind: 'Committed', result: undefined, revision: objects.version });
    },
  } as unknown as Authority;
  const acting: Acting = {
    ...{ objects, authority, env: realEnv(), report: () => undefined, giveUp: () => undefined },
    actor: { kind: 'workload-controller', name: 'x' },
  };
  const slots = new SlotIndex(objects);
  const revisions = new ObjectIndex<WorkloadRevision>(objects, 'WorkloadRevision', workloadKeyOf);
  slots.start(signal);
  revisions.start(signal);
  objects.put(workloadOf({ replicas }));
  const reconciler = new WorkloadReconciler({ acting, slots, revisions });
  return { objects, made, reconcile: () => reconciler.reconcile('t/web', signal) };
}

describe('WorkloadReconciler', () => {
  it('takes one part of a large plan in each turn, so that others have theirs, and looks anew after the last', async () => {
    const { objects, made, reconcile } = open(2 * stepsMax);
    const turns: [number, string][] = [];
    let requeue = await reconcile();
    for (; requeue.kind === 'after'; requeue = await reconcile()) {
      turns.push([made.length, requeue.reason]);
      // Ends in a slot that the plan has passed.
      if (turns.length === 2) objects.put(replicaOf(0, 'Released'));
    }
    const more = 'there is more to do than fits into one turn';
    // Its revision is the first step.
    expect(turns.slice(0, 3)).toEqual([
      [stepsMax - 1, more],
      [2 * stepsMax - 1, more],
      [2 * stepsMax, 'what changed meanwhile is looked at'],
    ]);
    expect(requeue).toEqual({ kind: 'done' });
    expect(new Set(made).size).toBe(2 * stepsMax);
    expect(made.at(-1), 'the slot that ended runs again').toBe('0');
  });

  it('[L6] says how far it has come between the parts of a large plan', async () => {
    const { objects, reconcile } = open(4 * stepsMax);
    const statusAfterTurn = async () => {
      await reconcile();
      const status = objects.get<Workload>('Workload', 't', 'web')?.status;
      return { desired: status?.desired, replicas: status?.replicas, counts: status?.progress?.stages };
    };
    const queued = stepsMax - 1;
    expect(await statusAfterTurn()).toEqual({
      ...{ desired: 4 * stepsMax, replicas: queued, counts: { Queued: queued } },
    });
    // Saying it costs the more, the larger it is: the next parts are made first.
    expect(await statusAfterTurn()).toMatchObject({ replicas: queued });
  });

  it('drops the rest of a plan when its user asks for something else', async () => {
    const { objects, made, reconcile } = open(2 * stepsMax);
    await reconcile();
    objects.put(workloadOf({ replicas: stepsMax }, { generation: 2 }));
    expect(await reconcile()).toEqual({ kind: 'done' });
    expect(made).toHaveLength(stepsMax);
  });
});
