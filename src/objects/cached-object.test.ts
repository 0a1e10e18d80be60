import { expect, it } from 'vitest';
import type { TenantAccount } from '../model/records.js';
import { Versions } from '../model/versions.js';
import { asRevision } from '../store/contract.js';
import { CachedObject, CacheEvent } from './cached-object.js';

const ledger = { kind: 'TenantLedger', namespace: undefined, name: 'shop' };

/** An account that counts how often it is looked into. */
function account(revision: number) {
  let looks = 0;
  const value: TenantAccount = {
    borrowed: {},
    lost: {},
    get used() {
      looks += 1;
      return { replicas: 3 };
    },
  };
  const at = asRevision(revision);
  return { record: { value, revision: at, createRevision: at }, looks: () => looks };
}

it('an object is put together when somebody looks at it, and then once', () => {
  const { record, looks } = account(7);
  const cached = new CachedObject(ledger, record, undefined, new Versions(100));
  const event = new CacheEvent('MODIFIED', ledger, cached, cached);
  expect(looks()).toBe(0);
  expect(event.object).toMatchObject({
    kind: 'TenantLedger',
    metadata: { name: 'shop', resourceVersion: '114' },
    status: { used: { replicas: 3 } },
  });
  expect(event.before).toBe(cached.object);
  expect(looks()).toBe(1);
});

it('the last state of what was deleted stands at the version of its deletion', () => {
  const cached = new CachedObject(ledger, account(7).record, undefined, new Versions(100));
  expect(cached.asOf(118).object.metadata).toEqual({ ...cached.object.metadata, resourceVersion: '118' });
});
