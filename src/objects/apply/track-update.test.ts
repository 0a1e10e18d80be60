import { describe, expect, it } from 'vitest';
import { isBerthError } from '../../model/errors.js';
import type { DraftObject } from './owned-part.js';
import { updateEntriesMax } from './track-update.js';
import { applied, at, managersOf, updated, workload, type Fields } from './workload.fixture.js';

/** The object as a client sends it back: everything it read, with other fields. */
const edit = (live: DraftObject, fields: Fields): DraftObject => ({ ...live, ...fields });

describe('an ordinary write', () => {
  it('that creates gives its manager every field, maps and items themselves included', () => {
    const config = workload(
      { spec: { replicas: 1, env: [{ name: 'A' }] } },
      { uid: 'u', labels: { app: 'web' } },
    );
    const created = updated(undefined, 'kubectl-create', config, { now: at(3) });
    expect(managersOf(created)).toEqual({
      'Update kubectl-create': {
        'f:metadata': { 'f:labels': { '.': {}, 'f:app': {} } },
        'f:spec': {
          '.': {},
          'f:env': { '.': {}, 'k:{"name":"A"}': { '.': {}, 'f:name': {} } },
          'f:replicas': {},
        },
      },
    });
    expect(created.metadata.managedFields?.[0]?.time).toBe(at(3));
    expect(created.metadata.uid).toBe('u');
  });

  it('that creates does not believe managedFields it brings along', () => {
    const foreign = applied(undefined, 'a', workload({ spec: { replicas: 1 } }));
    expect(Object.keys(managersOf(updated(undefined, 'b', foreign)))).toEqual(['Update b']);
  });

  it('gains what it changed or added, and takes it from whoever had it', () => {
    const live = applied(undefined, 'a', workload({ spec: { replicas: 1, suspend: false } }), { now: at(1) });
    const next = updated(live, 'b', edit(live, { spec: { replicas: 2, suspend: false, command: ['x'] } }), {
      now: at(2),
    });
    expect(managersOf(next)).toEqual({
      'Apply a': { 'f:spec': { 'f:suspend': {} } },
      'Update b': { 'f:spec': { 'f:command': {}, 'f:replicas': {} } },
    });
    expect(next.metadata.managedFields?.map(({ time }) => time)).toEqual([at(1), at(2)]);
  });

  it('that removes a field removes it from every manager', () => {
    const shared = applied(
      applied(undefined, 'a', workload({ spec: { env: [{ name: 'A', value: '1' }], suspend: true } })),
      'b',
      workload({ spec: { env: [{ name: 'A', value: '1' }] } }),
    );
    const next = updated(shared, 'c', edit(shared, { spec: { env: [], suspend: true } }));
    expect(managersOf(next)).toEqual({ 'Apply a': { 'f:spec': { 'f:suspend': {} } } });
  });

  it('that changes nothing leaves managedFields as they are, time included', () => {
    const live = updated(undefined, 'a', workload({ spec: { replicas: 1 } }), { now: at(1) });
    expect(updated(live, 'a', live, { now: at(2) })).toEqual(live);
    expect(updated(live, 'b', workload({ spec: { replicas: 1 } }, { resourceVersion: '7' }))).toEqual({
      ...live,
      metadata: { ...live.metadata, resourceVersion: '7' },
    });
  });

  it('that changes only the value of its own field renews its time', () => {
    const live = updated(undefined, 'a', workload({ spec: { replicas: 1 } }), { now: at(1) });
    const next = updated(live, 'a', edit(live, { spec: { replicas: 2 } }), { now: at(2) });
    expect(managersOf(next)).toEqual(managersOf(live));
    expect(next.metadata.managedFields?.[0]?.time).toBe(at(2));
  });

  it('to a subresource has an entry of its own', () => {
    const live = updated(undefined, 'a', workload({ spec: { replicas: 1 } }));
    const next = updated(live, 'a', edit(live, { status: { ready: 1 } }), { subresource: 'status' });
    expect(managersOf(next)).toMatchObject({
      'Update a': { 'f:spec': { '.': {}, 'f:replicas': {} } },
      'Update a status': { 'f:status': { '.': {}, 'f:ready': {} } },
    });
  });

  it.each([[[]], [[{}]]])('with managedFields %j has all managers forgotten', (managedFields) => {
    const live = applied(undefined, 'a', workload({ spec: { replicas: 1 } }));
    const next = updated(live, 'b', workload({ spec: { replicas: 1 } }, { managedFields }));
    expect(next.metadata).toEqual({ name: 'web', namespace: 'shop' });
    const changed = updated(live, 'b', workload({ spec: { replicas: 1, suspend: true } }, { managedFields }));
    expect(managersOf(changed)).toEqual({ 'Update b': { 'f:spec': { 'f:suspend': {} } } });
  });

  it('may hand in managedFields of its own, as kubectl does to take over fields', () => {
    const live = updated(undefined, 'kubectl-client-side-apply', workload({ spec: { replicas: 1 } }));
    const managedFields = live.metadata.managedFields?.map((entry) => ({
      ...entry,
      manager: 'kubectl',
      operation: 'Apply',
    }));
    const next = updated(live, 'kubectl', workload({ spec: { replicas: 1 } }, { managedFields }));
    expect(Object.keys(managersOf(next))).toEqual(['Apply kubectl']);
    expect(applied(next, 'kubectl', workload({ spec: { replicas: 2 } }))['spec']).toEqual({ replicas: 2 });
  });

  it.each(['x', [null], [{ manager: 'a' }], [{}, {}]])(
    'that brings %j as managedFields leaves them as they were',
    (managedFields) => {
      const live = applied(undefined, 'a', workload({ spec: { replicas: 1 } }));
      expect(updated(live, 'b', workload({ spec: { replicas: 1 } }, { managedFields }))).toEqual(live);
    },
  );

  it('keeps a bounded number of Update entries: the oldest become ancient-changes, and nothing is lost', () => {
    let live = applied(undefined, 'applier', workload({ spec: { replicas: 1 } }), { now: at(0) });
    const labels: Record<string, string> = {};
    for (let minute = 1; minute <= 14; minute += 1) {
      labels[`l${minute}`] = 'x';
      const next = { ...live, metadata: { ...live.metadata, labels: { ...labels } } };
      live = updated(live, `m${minute}`, next, { now: at(minute) });
    }
    const updates = live.metadata.managedFields?.filter(({ operation }) => operation === 'Update') ?? [];
    expect(updates.map(({ manager }) => manager)).toEqual([
      'ancient-changes',
      ...[6, 7, 8, 9, 10, 11, 12, 13, 14].map((minute) => `m${minute}`),
    ]);
    expect(updates).toHaveLength(updateEntriesMax);
    expect(updates[0]).toMatchObject({
      time: at(5),
      fieldsV1: {
        'f:metadata': { 'f:labels': { '.': {}, 'f:l1': {}, 'f:l2': {}, 'f:l3': {}, 'f:l4': {}, 'f:l5': {} } },
      },
    });
    expect(managersOf(live)['Apply applier']).toEqual({ 'f:spec': { 'f:replicas': {} } });
  });

  it('keeps the entry of the manager that acts, when all are equally old', () => {
    let live = updated(undefined, 'zero', workload({}, { labels: { zero: '' } }));
    for (const name of ['k', 'j', 'i', 'h', 'g', 'f', 'e', 'd', 'c', 'b', 'a']) {
      const labels = { ...live.metadata.labels, [name]: '' };
      live = updated(live, name, { ...live, metadata: { ...live.metadata, labels } });
      expect(managersOf(live)).toHaveProperty([`Update ${name}`]);
    }
    expect(live.metadata.managedFields).toHaveLength(updateEntriesMax);
  });

  it('refuses what is nested too deep', () => {
    const spec = JSON.parse(`{"command":${'['.repeat(4_000)}${']'.repeat(4_000)}}`) as object;
    expect(() => updated(undefined, 'a', workload({ spec }))).toThrow(
      expect.toSatisfy((error) => isBerthError(error, 'TooDeep')),
    );
  });
});
