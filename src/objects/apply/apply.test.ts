import { describe, expect, it } from 'vitest';
import { isBerthError } from '../../model/errors.js';
import { describeConflicts } from './describe-conflicts.js';
import { applied, apply, at, managersOf, updated, workload } from './workload.fixture.js';

const replicas = (count: number) => workload({ spec: { replicas: count } });

describe('server-side apply', () => {
  it('[apply 1] two managers and a conflict: the second is told manager and field, and nothing changes', () => {
    const live = applied(undefined, 'team-a', replicas(3));
    const outcome = apply(live, 'team-b', workload({ spec: { replicas: 5, suspend: true } }));
    expect(outcome).toEqual({
      kind: 'Conflict',
      conflicts: [{ manager: 'team-a', operation: 'Apply', path: '.spec.replicas' }],
    });
    const { message, causes } = describeConflicts(outcome.kind === 'Conflict' ? outcome.conflicts : []);
    expect(message).toBe('Apply failed with 1 conflict: conflict with "team-a" (Apply): .spec.replicas');
    expect(causes).toEqual([
      { reason: 'FieldManagerConflict', message: 'conflict with "team-a" (Apply)', field: '.spec.replicas' },
    ]);
  });

  it('[apply 2] a list keyed by name: two managers own an item each, and fields inside one item', () => {
    const first = applied(undefined, 'a', workload({ spec: { env: [{ name: 'A', value: '1' }] } }));
    const both = applied(
      first,
      'b',
      workload({
        spec: {
          env: [
            { name: 'B', value: '2' },
            { name: 'A', secret: 's' },
          ],
        },
      }),
    );
    expect(both['spec']).toEqual({
      env: [
        { name: 'A', value: '1', secret: 's' },
        { name: 'B', value: '2' },
      ],
    });
    expect(managersOf(both)).toEqual({
      'Apply a': { 'f:spec': { 'f:env': { 'k:{"name":"A"}': { '.': {}, 'f:name': {}, 'f:value': {} } } } },
      'Apply b': {
        'f:spec': {
          'f:env': {
            'k:{"name":"A"}': { '.': {}, 'f:name': {}, 'f:secret': {} },
            'k:{"name":"B"}': { '.': {}, 'f:name': {}, 'f:value': {} },
          },
        },
      },
    });
    expect(apply(both, 'b', workload({ spec: { env: [{ name: 'A', value: '9' }] } }))).toEqual({
      kind: 'Conflict',
      conflicts: [{ manager: 'a', operation: 'Apply', path: '.spec.env[name="A"].value' }],
    });

    const withoutA = applied(both, 'a', workload({}));
    expect(withoutA['spec']).toEqual({
      env: [
        { name: 'A', secret: 's' },
        { name: 'B', value: '2' },
      ],
    });
    expect(applied(withoutA, 'b', workload({}))).toEqual(workload({}));
  });

  it('[apply 3] giving up a field: left out it is removed, left out but co-owned it stays', () => {
    const alone = applied(undefined, 'a', workload({ spec: { replicas: 3, suspend: true } }));
    const shared = applied(alone, 'b', replicas(3));
    const given = applied(shared, 'a', workload({ metadata: {}, spec: { command: ['run'] } }));
    expect(given['spec']).toEqual({ replicas: 3, command: ['run'] });
    expect(managersOf(given)).toEqual({
      'Apply a': { 'f:spec': { 'f:command': {} } },
      'Apply b': { 'f:spec': { 'f:replicas': {} } },
    });
    // Now b is alone with it and may change it.
    expect(applied(given, 'b', replicas(4))['spec']).toEqual({ replicas: 4, command: ['run'] });
  });

  it('creates the object, with nobody managing its identity or its status', () => {
    const config = workload(
      { spec: { replicas: 1 }, status: { ready: 1 } },
      { uid: 'u', resourceVersion: '9', creationTimestamp: null, labels: { app: 'web' }, managedFields: [] },
    );
    expect(applied(undefined, 'a', config, { now: at(7) })).toEqual({
      apiVersion: 'berth.dev/v1',
      kind: 'Workload',
      metadata: {
        name: 'web',
        namespace: 'shop',
        labels: { app: 'web' },
        managedFields: [
          {
            manager: 'a',
            operation: 'Apply',
            apiVersion: 'berth.dev/v1',
            time: at(7),
            fieldsType: 'FieldsV1',
            fieldsV1: { 'f:metadata': { 'f:labels': { 'f:app': {} } }, 'f:spec': { 'f:replicas': {} } },
          },
        ],
      },
      spec: { replicas: 1 },
    });
  });

  it('keeps what the server wrote of the live object', () => {
    const live = applied(undefined, 'a', replicas(1));
    const stored = {
      ...live,
      metadata: {
        ...live.metadata,
        uid: 'u1',
        resourceVersion: '5',
        generation: 2,
        creationTimestamp: at(1),
      },
      status: { ready: 1 },
    };
    const next = applied(stored, 'a', workload({ spec: { replicas: 2 } }, { uid: 'other', generation: 9 }));
    expect(next.metadata).toMatchObject({
      uid: 'u1',
      resourceVersion: '5',
      generation: 2,
      creationTimestamp: at(1),
    });
    expect(next['status']).toEqual({ ready: 1 });
  });

  it('with force takes the field, and an entry that has nothing left goes', () => {
    const live = applied(undefined, 'a', workload({ spec: { replicas: 3, suspend: true } }), { now: at(1) });
    const edited = updated(live, 'editor', workload({ spec: { replicas: 4, suspend: true } }), {
      now: at(2),
    });
    const forced = applied(edited, 'b', workload({ spec: { replicas: 5, suspend: false } }), {
      force: true,
      now: at(3),
    });
    expect(forced['spec']).toEqual({ replicas: 5, suspend: false });
    expect(managersOf(forced)).toEqual({ 'Apply b': { 'f:spec': { 'f:replicas': {}, 'f:suspend': {} } } });
  });

  it('does not touch the time of a manager that only lost something', () => {
    const live = applied(undefined, 'a', workload({ spec: { replicas: 3, suspend: true } }), { now: at(1) });
    const forced = applied(live, 'b', replicas(5), { force: true, now: at(2) });
    expect(forced.metadata.managedFields?.map(({ manager, time }) => [manager, time])).toEqual([
      ['a', at(1)],
      ['b', at(2)],
    ]);
  });

  it('shares a field that two apply with the same value, and then neither can change it alone', () => {
    const shared = applied(applied(undefined, 'a', replicas(3)), 'b', replicas(3));
    expect(managersOf(shared)).toEqual({
      'Apply a': { 'f:spec': { 'f:replicas': {} } },
      'Apply b': { 'f:spec': { 'f:replicas': {} } },
    });
    expect(apply(shared, 'a', replicas(4)).kind).toBe('Conflict');
  });

  it('owns atomic lists and maps as a whole', () => {
    const live = applied(undefined, 'a', workload({ spec: { command: ['x', 'y'], near: { region: 'eu' } } }));
    expect(apply(live, 'b', workload({ spec: { command: ['x'], near: { region: 'eu' } } }))).toEqual({
      kind: 'Conflict',
      conflicts: [{ manager: 'a', operation: 'Apply', path: '.spec.command' }],
    });
    expect(applied(live, 'a', workload({ spec: { command: ['z'] } }))['spec']).toEqual({ command: ['z'] });
  });

  it('owns the values of a set one by one', () => {
    const finalizers = (...values: string[]) => workload({}, { finalizers: values });
    const both = applied(applied(undefined, 'a', finalizers('x', 'y')), 'b', finalizers('y', 'z'));
    expect(both.metadata.finalizers).toEqual(['x', 'y', 'z']);
    expect(applied(both, 'a', workload({})).metadata.finalizers).toEqual(['y', 'z']);
    expect(managersOf(both)['Apply b']).toEqual({
      'f:metadata': { 'f:finalizers': { 'v:"y"': {}, 'v:"z"': {} } },
    });
  });

  it('tells owner references apart by uid', () => {
    const owner = (uid: string) => ({ apiVersion: 'berth.dev/v1', kind: 'Workload', name: 'o', uid });
    const first = applied(undefined, 'a', workload({}, { ownerReferences: [owner('1')] }));
    const both = applied(first, 'b', workload({}, { ownerReferences: [owner('2')] }));
    expect(both.metadata.ownerReferences).toEqual([owner('1'), owner('2')]);
  });

  it('identifies an item by a key that the schema fills in', () => {
    const ports = (...list: object[]) => workload({ spec: { ports: list } });
    const live = applied(undefined, 'a', ports({ number: 80, protocol: 'TCP', name: 'http' }));
    expect(applied(live, 'b', ports({ number: 80 }, { number: 80, protocol: 'UDP' }))['spec']).toEqual({
      ports: [
        { number: 80, protocol: 'TCP', name: 'http' },
        { number: 80, protocol: 'UDP' },
      ],
    });
  });

  it('keeps what managers apply to the status apart', () => {
    const live = applied(undefined, 'a', replicas(1));
    const config = workload({ spec: { replicas: 9 }, status: { ready: 1 } }, { labels: { x: 'y' } });
    const withStatus = applied(live, 'a', config, { subresource: 'status', now: at(1) });
    expect(withStatus).toEqual({ ...withStatus, spec: { replicas: 1 }, status: { ready: 1 } });
    expect(withStatus.metadata.labels).toBeUndefined();
    expect(managersOf(withStatus)).toEqual({
      'Apply a': { 'f:spec': { 'f:replicas': {} } },
      'Apply a status': { 'f:status': { 'f:ready': {} } },
    });
    expect(applied(withStatus, 'a', replicas(2))['status']).toEqual({ ready: 1 });
    expect(apply(withStatus, 'b', workload({ status: { ready: 2 } }), { subresource: 'status' })).toEqual({
      kind: 'Conflict',
      conflicts: [{ manager: 'a', operation: 'Apply', subresource: 'status', path: '.status.ready' }],
    });
  });

  it('an update after an apply takes the field: applying the old value again is a conflict', () => {
    const live = applied(undefined, 'a', replicas(3));
    const scaled = updated(live, 'kubectl-edit', workload({ spec: { replicas: 5 } }));
    expect(managersOf(scaled)).toEqual({ 'Update kubectl-edit': { 'f:spec': { 'f:replicas': {} } } });
    expect(apply(scaled, 'a', replicas(3))).toEqual({
      kind: 'Conflict',
      conflicts: [{ manager: 'kubectl-edit', operation: 'Update', path: '.spec.replicas' }],
    });
  });

  it('whoever applies in another version is the same manager', () => {
    const live = applied(undefined, 'a', workload({ spec: { replicas: 1, suspend: true } }));
    const old = live.metadata.managedFields?.map((entry) => ({ ...entry, apiVersion: 'berth.dev/v0' })) ?? [];
    const next = applied({ ...live, metadata: { ...live.metadata, managedFields: old } }, 'a', replicas(2));
    expect(next['spec']).toEqual({ replicas: 2 });
    expect(next.metadata.managedFields?.map(({ apiVersion }) => apiVersion)).toEqual(['berth.dev/v1']);
  });

  it('goes into an empty map that another manager applied, and leaves it empty again', () => {
    const live = applied(undefined, 'a', workload({ spec: { nodeSelector: {} } }));
    const filled = applied(live, 'b', workload({ spec: { nodeSelector: { pool: 'gpu' } } }));
    expect(filled['spec']).toEqual({ nodeSelector: { pool: 'gpu' } });
    expect(applied(filled, 'b', workload({}))).toEqual(live);
  });

  it('lets nobody conflict over a field that is not there', () => {
    const live = applied(undefined, 'a', workload({ spec: { replicas: 3, suspend: true } }));
    const lost = { ...live, spec: { suspend: true } };
    expect(managersOf(applied(lost, 'b', replicas(4)))).toEqual({
      'Apply a': { 'f:spec': { 'f:suspend': {} } },
      'Apply b': { 'f:spec': { 'f:replicas': {} } },
    });
  });

  it.each([
    ['a string for a keyed list', { spec: { env: 'text' } }],
    ['a list for a map', { spec: [1] }],
    ['null for a spec', { spec: null }],
    ['a number for labels', { spec: {}, metadata: { labels: 5 } }],
    ['text for metadata', { metadata: 'text' }],
    ['null for metadata', { metadata: null }],
  ])('takes %s as it is: refusing it is for admission', (_, fields) => {
    const config = { ...workload({}), ...fields } as ReturnType<typeof workload>;
    const created = applied(undefined, 'a', config);
    expect(applied(created, 'a', config)).toEqual(created);
    const live = applied(undefined, 'b', workload({ spec: { env: [{ name: 'A', value: '1' }] } }));
    expect(['Applied', 'Conflict']).toContain(apply(live, 'a', config).kind);
  });

  it('treats managedFields that make no sense as none', () => {
    for (const managedFields of ['x', [null], [{}], [{ manager: 5 }]]) {
      const live = workload({ spec: { replicas: 1 } }, { managedFields });
      expect(applied(live, 'a', replicas(2))['spec']).toEqual({ replicas: 2 });
    }
  });

  it('takes __proto__ for a field like any other', () => {
    const config = workload({
      spec: JSON.parse('{"nodeSelector":{"__proto__":{"polluted":"yes"}}}') as object,
    });
    const created = applied(undefined, 'a', config);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    expect(applied(created, 'a', workload({}))).toEqual(workload({}));
  });

  it('refuses what is nested too deep, also where it would be one leaf', () => {
    for (const [open, close] of [
      ['{"a":', '}'],
      ['[', ']'],
    ] as const) {
      const spec = JSON.parse(`{"command":${open.repeat(4_000)}1${close.repeat(4_000)}}`) as object;
      expect(() => apply(undefined, 'a', workload({ spec }))).toThrow(
        expect.toSatisfy((error) => isBerthError(error, 'TooDeep')),
      );
    }
  });
});
