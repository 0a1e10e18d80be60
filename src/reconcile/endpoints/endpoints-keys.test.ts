import { describe, expect, it } from 'vitest';
import { FakeObjects } from '../../model/fake-objects.fixture.js';
import type { Replica } from '../../model/kinds/replica.js';
import { ObjectIndex } from '../../model/object-index.js';
import { replicaOf } from '../workload/workload.fixture.js';
import { endpointsKeysOf } from './endpoints-keys.js';

const onNode = new ObjectIndex<Replica>(new FakeObjects(), 'Replica', () => undefined);
const keys = (after: Replica, before?: Replica): string[] => [
  ...endpointsKeysOf(onNode, {
    ...{ type: before === undefined ? 'ADDED' : 'MODIFIED', kind: 'Replica', version: 1 },
    ...{ object: after, before },
  }),
];

describe('the services that a change of a replica concerns', () => {
  it('are none while clients cannot be sent to it yet', () => {
    expect(keys(replicaOf(0, 'Queued'))).toEqual([]);
    expect(keys(replicaOf(0, 'Bound'), replicaOf(0, 'Queued'))).toEqual([]);
    expect(keys(replicaOf(0, 'Starting'), replicaOf(0, 'Bound'))).toEqual([]);
  });

  it('are its own when it becomes ready, serves, is not heard of, or leaves while it is listed', () => {
    const listed = replicaOf(0, 'Releasing', { isListed: true });
    expect(keys(replicaOf(0, 'Ready'), replicaOf(0, 'Starting'))).toEqual(['t/web']);
    expect(keys(replicaOf(0, 'Serving'), replicaOf(0, 'Ready'))).toEqual(['t/web']);
    expect(keys(replicaOf(0, 'Unknown'), replicaOf(0, 'Serving'))).toEqual(['t/web']);
    expect(keys(listed, replicaOf(0, 'Serving'))).toEqual(['t/web']);
    expect(keys(replicaOf(0, 'Released'), listed)).toEqual(['t/web']);
  });
});
