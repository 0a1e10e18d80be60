import { expect, it } from 'vitest';
import { plus } from './plus.js';

it('makes a copy with more fields, in order, and leaves the object as it was', () => {
  const object = Object.freeze({ name: 'a', uid: 'u' });
  expect(JSON.stringify(plus(object, { uid: 'v', labels: {} }))).toBe('{"name":"a","uid":"v","labels":{}}');
  expect(object).toEqual({ name: 'a', uid: 'u' });
});

it('keeps a field of the name __proto__ a field: nobody gets another prototype by sending one', () => {
  const copy = plus(JSON.parse('{"__proto__": {"isAdmin": true}}') as object, { name: 'a' });
  expect(Object.keys(copy)).toEqual(['__proto__', 'name']);
  expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
});
