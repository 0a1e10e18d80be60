import { describe, expect, it } from 'vitest';
import { VirtualTime } from '../../env/virtual.js';
import { FakeObjects } from '../../model/fake-objects.fixture.js';
import type { Authority, Outcome, Publish, Withdraw } from '../../model/ports.js';
import type { Acting } from '../runtime/acting.js';
import { SlotIndex } from '../workload/slot-index.js';
import { boundTo, nodeOf, replicaOf, workloadOf } from '../workload/workload.fixture.js';
import { EndpointsReconciler } from './endpoints-reconciler.js';

const count = 500;

/** A service of which all replicas serve and are listed, and all but one shall stop. */
function open() {
  const time = new VirtualTime({ seed: 1 });
  const objects = new FakeObjects();
  objects.put(workloadOf());
  objects.put({ ...nodeOf('n1'), status: { reachability: 'Fresh' } });
  const intent = { actor: 'user:x', reason: 'ScaledDown', operation: 'o', at: '2026-01-01T00:00:00Z' };
  for (let slot = 0; slot < count; slot++)
    objects.put(
      replicaOf(slot, slot === 0 ? 'Serving' : 'Releasing', {
        ...{ ...boundTo('n1'), isListed: true },
        ...(slot > 0 && { intent }),
      }),
    );
  const published: Publish[] = [];
  const withdrawn: Withdraw[] = [];
  const done: Outcome<undefined> = { kind: 'Committed', result: undefined, revision: '77' };
  const authority: Pick<Authority, 'publish' | 'withdraw'> = {
    publish: (input) => {
      published.push(input);
      return Promise.resolve(done);
    },
    withdraw: (input) => {
      withdrawn.push(input);
      return Promise.resolve(done);
    },
  };
  const acting: Acting = {
    ...{ objects, env: time.machine('server').env },
    authority: authority as unknown as Authority,
    ...{ report: () => undefined, giveUp: () => undefined },
    actor: { kind: 'endpoints-controller', name: 'test' },
  };
  const slots = new SlotIndex(objects);
  slots.start(new AbortController().signal);
  const reconciler = new EndpointsReconciler({ acting, slots });
  const look = async (): Promise<void> => {
    const looked = reconciler.reconcile('t/web', new AbortController().signal);
    await time.run(1_000);
    await looked;
  };
  return { look, published, withdrawn };
}

describe('a service that is scaled down by many', () => {
  it('lists none of them after one look, and lets all of them stop', async () => {
    const { look, published, withdrawn } = open();
    await look();
    expect(published).toHaveLength(1);
    expect(published[0]?.endpoints.addresses?.map(({ replica }) => replica)).toEqual(['web-0-1']);
    const left = [...(published[0]?.leaving ?? []), ...withdrawn.map(({ replica }) => replica)];
    expect(new Set(left.map(({ name }) => name)).size).toBe(count - 1);
    expect(withdrawn.every(({ seen, workload }) => seen === '77' && workload === 'web')).toBe(true);
  });
});
