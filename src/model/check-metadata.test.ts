import { expect, it } from 'vitest';
import { checkMetadata } from './check-metadata.js';

it('an object is named as its kind demands, in a namespace exactly if its scope has one', () => {
  const reasons = (
    scope: 'Cluster' | 'Tenant',
    nameForm: 'label' | 'subdomain',
    metadata: object,
  ): string[] => checkMetadata({ scope, nameForm }, metadata).map((error) => `${error.path} ${error.reason}`);
  expect(reasons('Cluster', 'subdomain', { name: 'a.b' })).toEqual([]);
  expect(reasons('Cluster', 'label', { name: 'a.b' })).toEqual(['metadata.name Invalid']);
  expect(reasons('Cluster', 'label', { name: 'a'.repeat(64) })).toEqual(['metadata.name TooLong']);
  expect(reasons('Tenant', 'label', { name: 'a', namespace: 'fraud' })).toEqual([]);
  expect(reasons('Tenant', 'label', {})).toEqual(['metadata.name Required', 'metadata.namespace Required']);
  expect(reasons('Tenant', 'label', { name: 'a', namespace: 'a.b' })).toEqual(['metadata.namespace Invalid']);
  expect(reasons('Cluster', 'label', { name: 'a', namespace: 'b' })).toEqual([
    'metadata.namespace Forbidden',
  ]);
});
