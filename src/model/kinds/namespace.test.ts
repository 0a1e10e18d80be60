import { expect, it } from 'vitest';
import { example } from '../example.fixture.js';
import { Validator } from '../validate.js';
import { namespace } from './namespace.js';

it('a Namespace is a view of a tenant in core/v1 that nobody writes', () => {
  const object = example(namespace, { spec: {}, status: { phase: 'Active' } }, 'fraud');
  expect(object.apiVersion).toBe('v1');
  expect(new Validator().validate(namespace, object)).toEqual([]);
  expect(namespace.writers).toEqual({ spec: 'nobody', status: 'nobody' });
});
