import { describe, expect, it } from 'vitest';
import { assemble, ownedPart, statedPart } from './owned-part.js';
import { workload } from './workload.fixture.js';

const serverSide = {
  uid: 'u',
  resourceVersion: '1',
  generation: 1,
  creationTimestamp: 't',
  deletionTimestamp: 't',
  deletionGracePeriodSeconds: 0,
  managedFields: [],
  selfLink: '/x',
};
const owned = { labels: { a: 'b' }, annotations: { c: 'd' }, finalizers: ['f'], ownerReferences: [] };
const object = workload({ spec: { replicas: 1 }, status: { ready: 1 } }, { ...serverSide, ...owned });

describe('the part of an object that has managers', () => {
  it('is all but its identity and what the server writes', () => {
    expect(ownedPart(object)).toEqual({ metadata: owned, spec: { replicas: 1 }, status: { ready: 1 } });
    expect(ownedPart(undefined)).toEqual({ metadata: {} });
  });

  it('is what was applied to the object without its status, or to the status alone', () => {
    expect(statedPart(object, undefined)).toEqual({ metadata: owned, spec: { replicas: 1 } });
    expect(statedPart(object, 'status')).toEqual({ status: { ready: 1 } });
    expect(statedPart(workload({}), undefined)).toEqual({});
  });

  it('makes the same object again with the rest of it', () => {
    expect(assemble(ownedPart(object), object, workload({}), [])).toEqual({
      ...object,
      metadata: { name: 'web', namespace: 'shop', ...serverSide, ...owned, managedFields: undefined },
    });
    expect(assemble(undefined, undefined, object, [])).toEqual(workload({}));
  });
});
