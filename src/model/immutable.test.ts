import { expect, it } from 'vitest';
import { checkUnchanged } from './immutable.js';

it('a field that may not change is compared by value', () => {
  expect(checkUnchanged('spec', { a: [1], b: 2 }, { b: 2, a: [1] })).toEqual([]);
  expect(checkUnchanged('spec', { a: [1] }, { a: [2] })).toEqual([
    { path: 'spec', value: { a: [1] }, reason: 'Forbidden', message: 'cannot be changed once it is written' },
  ]);
});
