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

it('the JSON that a creator sees is that of the object that is read later, whatever its texts hold', () => {
  const { stored } = takeApart(object);
  const json = shownJson(JSON.stringify(stored), '7');
  expect(JSON.parse(json)).toEqual(assembleObject(stored, undefined, '7'));
});
