import { expect, it } from 'vitest';
import { freeOn } from './free-on.js';

const account = {
  allocatable: { cpuMilli: 4_000, devices: { gpu: 2 } },
  used: { cpuMilli: 1_000, devices: { gpu: 1 } },
  devices: { gpu: ['a', 'b'] },
  claims: { devices: { a: 'uid' }, ports: {} },
};

it('[S1] of devices there are no more left than the amount says, and no more than have an id that nobody claims', () => {
  expect(freeOn(account)).toEqual({ cpuMilli: 3_000, devices: { gpu: 1 } });
  expect(freeOn({ ...account, devices: { gpu: ['a'] } }).devices).toEqual({ gpu: 0 });
  expect(freeOn({ ...account, claims: { devices: {}, ports: {} } }).devices).toEqual({ gpu: 1 });
  expect(freeOn({ ...account, devices: {} }).devices).toEqual({ gpu: 0 });
});

it('a node without devices has its other amounts left', () => {
  expect(freeOn({ ...account, allocatable: { cpuMilli: 2 }, used: { cpuMilli: 3 } })).toEqual({
    cpuMilli: -1,
  });
});
