import { expect, it } from 'vitest';
import { assembleObject, shownJson, takeApart } from './assemble.js';

const object = {
  apiVersion: 'berth.dev/v1',
  kind: 'PriorityClass',
  metadata: {
    name: 'a',
    uid: 'u',
    resourceVersion: '',
    generation: 1,
    creationTimestamp: 't',
    labels: { '"metadata":{': 'x' },
  },
  spec: { value: 1, description: '"metadata":{' },
};

it('an object taken apart is stored without its version and its status, and assembled with both again', () => {
  const { stored, status } = takeApart({ ...object, status: { ready: 1 } });
  expect(stored.metadata).not.toHaveProperty('resourceVersion');
  expect(stored).not.toHaveProperty('status');
  expect(assembleObject(stored, status, '7')).toEqual({
    ...object,
    metadata: { ...object.metadata, resourceVersion: '7' },
    status: { ready: 1 },
  });
});

it('one that a controller made for its owner is assembled like any other', () => {
  const owned = {
    ...object,
    metadata: {
      ...{ name: 'a', namespace: 't', uid: 'u', generation: 1, creationTimestamp: 't', labels: { a: 'b' } },
      ownerReferences: [{ apiVersion: 'v', kind: 'Workload', name: 'w', uid: 'x', controller: true }],
      finalizers: ['f'],
    },
  };
  const status = { status: { ready: 1 } };
  const more = { ...owned, metadata: { ...owned.metadata, deletionTimestamp: 'd' }, extra: true };
  for (const stored of [owned, more])
    expect(assembleObject(stored, status, '7')).toEqual({
      ...stored,
      metadata: { ...stored.metadata, resourceVersion: '7' },
      ...status,
    });
});

it('the JSON that a creator sees is that of the object that is read later, whatever its texts hold', () => {
  const { stored } = takeApart(object);
  const json = shownJson(JSON.stringify(stored), '7');
  expect(JSON.parse(json)).toEqual(assembleObject(stored, undefined, '7'));
});
