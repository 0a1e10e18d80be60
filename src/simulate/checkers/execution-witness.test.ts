import { expect, it } from 'vitest';
import { ExecutionWitness } from './execution-witness.js';

const execution = { tenant: 'shop', workload: 'once', slot: '0', atMs: 7 };

it('[S5] executions of other slots do not overlap, whatever they promise', () => {
  const witness = new ExecutionWitness();
  witness.expectAtMostOne('a');
  expect(witness.note({ ...execution, uid: 'a', running: true })).toEqual([]);
  expect(witness.note({ ...execution, slot: '1', uid: 'a', running: true })).toEqual([]);
  expect(witness.note({ ...execution, uid: 'b', running: true })).toHaveLength(1);
});
