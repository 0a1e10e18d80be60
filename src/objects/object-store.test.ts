import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { realEnv } from '../env/real.js';
import { type ErrorCode, isBerthError } from '../model/errors.js';
import type { BerthObject } from '../model/object.js';
import { MemoryStore } from '../store/memory.js';
import { draft, kindOf, openObjects, workload } from './open-objects.fixture.js';

const Workload = kindOf('Workload');
const Tenant = kindOf('Tenant');
const keyOf = (name: string) => ({ kind: 'Workload', namespace: 'default', name });

describe('versioned objects', () => {
  let opened: Awaited<ReturnType<typeof openObjects>>;
  beforeEach(async () => {
    const env = realEnv();
    opened = await openObjects(new MemoryStore(env), env);
    await opened.objects.create(Tenant, undefined, draft('Tenant', 'default', {}));
  });
  afterEach(() => opened.cache.close());

  const create = async (name: string, spec: object = {}, metadata: object = {}): Promise<BerthObject> =>
    (await opened.objects.create(Workload, 'default', workload(name, spec, metadata), { manager: 'test' }))
      .object;
  const failsWith = async (promise: Promise<unknown> | (() => unknown), code: ErrorCode): Promise<Error> => {
    try {
      await (typeof promise === 'function' ? promise() : promise);
    } catch (error) {
      if (isBerthError(error, code)) return error;
      throw error;
    }
    throw new Error(`expected ${code}`);
  };

  it('get what the server decides: uid, version, generation, creation time; defaults are filled in', async () => {
    const made = await create(
      'a',
      {},
      { uid: 'mine', generation: 7, resourceVersion: '5', creationTimestamp: '1999-01-01T00:00:00Z' },
    );
    expect(made.metadata).toMatchObject({ name: 'a', namespace: 'default', generation: 1 });
    expect(made.metadata.uid).toMatch(/^[0-9a-f-]{36}$/);
    expect(made.metadata.creationTimestamp).not.toContain('1999');
    expect(made.spec?.['priorityClassName']).toBe('default');
    expect(opened.objects.get(Workload, keyOf('a'))).toEqual(made);
  });

  it('cannot be created twice, nor in a tenant that is not there or is going', async () => {
    await create('a');
    await failsWith(create('a'), 'AlreadyExists');
    await failsWith(opened.objects.create(Workload, 'nowhere', workload('a')), 'NotFound');
    await opened.objects.delete(Tenant, { kind: 'Tenant', namespace: undefined, name: 'default' });
    await failsWith(create('b'), 'Forbidden');
  });

  it('get a name of their own from generateName', async () => {
    const names = new Set<string>();
    for (let count = 0; count < 20; count++)
      names.add((await create('', {}, { name: undefined, generateName: 'job-' })).metadata.name);
    expect(names.size).toBe(20);
    for (const name of names) expect(name).toMatch(/^job-[a-z0-9]{5}$/);
  });

  it('are replaced only on the version they were read at; generation counts changes of the spec', async () => {
    const first = await create('a');
    const scaled = { ...first, spec: { ...first.spec, replicas: 3 } };
    const second = (await opened.objects.update(Workload, keyOf('a'), scaled, 'spec')).object;
    expect(second.metadata.generation).toBe(2);
    expect(Number(second.metadata.resourceVersion)).toBeGreaterThan(Number(first.metadata.resourceVersion));
    await failsWith(opened.objects.update(Workload, keyOf('a'), scaled, 'spec'), 'Conflict');
    const unversioned = { ...second, metadata: { ...second.metadata, resourceVersion: '' } };
    await failsWith(() => opened.objects.update(Workload, keyOf('a'), unversioned, 'spec'), 'Invalid');
    const other = { ...second, metadata: { ...second.metadata, uid: 'another' } };
    await failsWith(opened.objects.update(Workload, keyOf('a'), other, 'spec'), 'Conflict');
    const labelled = { ...second, metadata: { ...second.metadata, labels: { x: 'y' } } };
    const third = (await opened.objects.update(Workload, keyOf('a'), labelled, 'spec')).object;
    expect(third.metadata).toMatchObject({ generation: 2, labels: { x: 'y' } });
  });

  it('are not written when nothing changes', async () => {
    const first = await create('a');
    const again = (await opened.objects.update(Workload, keyOf('a'), first, 'spec', { manager: 'test' }))
      .object;
    expect(again.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
  });

  it('keep spec and status apart: each write touches its part alone', async () => {
    const first = await create('a');
    const both = { ...first, spec: { ...first.spec, replicas: 9 }, status: { observedGeneration: 1 } };
    const statusOnly = (await opened.objects.update(Workload, keyOf('a'), both, 'status')).object;
    expect(statusOnly.spec?.['replicas']).toBe(1);
    expect(statusOnly.status).toEqual({ observedGeneration: 1 });
    expect(statusOnly.metadata.generation).toBe(1);
    const specOnly = {
      ...statusOnly,
      spec: { ...first.spec, replicas: 9 },
      status: { observedGeneration: 99 },
    };
    const after = (await opened.objects.update(Workload, keyOf('a'), specOnly, 'spec')).object;
    expect(after.spec?.['replicas']).toBe(9);
    expect(after.status).toEqual({ observedGeneration: 1 });
  });

  it('lose no update among writers that all modify one object', async () => {
    await create('a', { replicas: 0 });
    const increment = () =>
      opened.objects.modify(Workload, keyOf('a'), 'spec', (live) => ({
        ...live,
        metadata: { ...live.metadata, resourceVersion: '' },
        spec: { ...live.spec, replicas: Number(live.spec?.['replicas']) + 1 },
      }));
    for (let round = 0; round < 5; round++) await Promise.all(Array.from({ length: 4 }, increment));
    expect(opened.objects.get(Workload, keyOf('a')).spec?.['replicas']).toBe(20);
  });

  it('wait for their finalizers: marked first, gone with the last one, which nobody can add meanwhile', async () => {
    await create('a', {}, { finalizers: ['example.dev/x', 'example.dev/y'] });
    const marked = await opened.objects.delete(Workload, keyOf('a'));
    expect(marked.isGone).toBe(false);
    expect(marked.object.metadata.deletionTimestamp).toBeDefined();
    const again = await opened.objects.delete(Workload, keyOf('a'));
    expect(again.object.metadata.deletionTimestamp).toBe(marked.object.metadata.deletionTimestamp);
    const withFinalizers = (finalizers: string[]) =>
      opened.objects.modify(Workload, keyOf('a'), 'spec', (live) => ({
        ...live,
        metadata: { ...live.metadata, finalizers },
      }));
    await failsWith(withFinalizers(['example.dev/x', 'example.dev/z']), 'Forbidden');
    await withFinalizers(['example.dev/y']);
    expect(opened.cache.get(keyOf('a'))).toBeDefined();
    await withFinalizers([]);
    expect(opened.cache.get(keyOf('a'))).toBeUndefined();
    await failsWith(opened.objects.delete(Workload, keyOf('a')), 'NotFound');
  });

  it('[S4] keep what Berth waits for: its finalizers are put on and taken off by its controllers alone', async () => {
    const tenant = { kind: 'Tenant', namespace: undefined, name: 'default' };
    const setFinalizers = async (finalizers: string[], author: 'client' | 'controller') => {
      const change = (live: BerthObject): BerthObject => ({
        ...live,
        metadata: { ...live.metadata, finalizers },
      });
      const kept = [];
      for (const [kind, key] of [[Tenant, tenant] as const, [Workload, keyOf('a')] as const])
        kept.push(
          (await opened.objects.modify(kind, key, 'spec', change, { author })).object.metadata.finalizers,
        );
      return kept;
    };
    await create('a', {}, { finalizers: ['berth.dev/replicas'] });
    expect(opened.objects.get(Workload, keyOf('a')).metadata.finalizers).toBeUndefined();
    await setFinalizers(['berth.dev/contents', 'berth.dev/replicas'], 'controller');
    const both = ['berth.dev/contents', 'berth.dev/replicas'];
    expect(await setFinalizers([], 'client')).toEqual([both, both]);
    const andOne = ['example.dev/x', ...both];
    expect(await setFinalizers(['example.dev/x', 'berth.dev/more'], 'client')).toEqual([andOne, andOne]);
    expect((await opened.objects.delete(Tenant, tenant)).isGone).toBe(false);
    expect((await opened.objects.delete(Workload, keyOf('a'))).isGone).toBe(false);
    await setFinalizers([], 'controller');
    expect([opened.cache.get(tenant), opened.cache.get(keyOf('a'))]).toEqual([undefined, undefined]);
  });

  it('take null for finalizers that are left out', async () => {
    const nothing = { finalizers: null } as unknown as object;
    expect((await create('a', {}, nothing)).metadata.finalizers).toBeUndefined();
    const change = (live: BerthObject): BerthObject => ({
      ...live,
      metadata: { ...live.metadata, ...nothing },
    });
    const { object } = await opened.objects.modify(Workload, keyOf('a'), 'spec', change);
    expect(object.metadata.finalizers).toBeUndefined();
  });

  it('with metadata of the wrong shape are refused with the field, whoever creates, replaces or applies them', async () => {
    await create('a');
    const wrong: readonly unknown[] = ['text', 7, true, { a: 1 }, [7], [null], [['x']], [{ a: 1 }]];
    const fields = ['generateName', 'labels', 'annotations', 'ownerReferences', 'finalizers'] as const;
    const right = (field: (typeof fields)[number], value: unknown): boolean =>
      field === 'generateName' && typeof value === 'string';
    for (const field of fields) {
      for (const value of wrong) {
        if (right(field, value)) continue;
        const broken = (live: BerthObject): BerthObject => ({
          ...live,
          metadata: { ...live.metadata, [field]: value },
        });
        const named = async (write: Promise<unknown>, how: string): Promise<void> => {
          const { message } = await failsWith(write, 'Invalid');
          expect(message, `${how} ${field} ${JSON.stringify(value)}`).toContain(`metadata.${field}`);
        };
        await named(opened.objects.create(Workload, 'default', broken(workload('b'))), 'create');
        const tenant = draft('Tenant', 'b', {});
        await named(opened.objects.create(Tenant, undefined, broken(tenant)), 'create a tenant');
        const nameless = { ...workload('b'), metadata: { generateName: 'b-', [field]: value } };
        await named(
          opened.objects.create(Workload, 'default', nameless as unknown as BerthObject),
          'create by prefix',
        );
        // What a name is made from is not looked at again once there is one.
        if (field === 'generateName') continue;
        await named(opened.objects.modify(Workload, keyOf('a'), 'spec', broken), 'modify');
        const applied = { manager: 'test', force: true };
        await named(opened.objects.apply(Workload, keyOf('a'), broken(workload('a')), applied), 'apply');
        await named(opened.objects.apply(Workload, keyOf('c'), broken(workload('c')), applied), 'apply anew');
      }
    }
  });

  it('are deleted only under the preconditions given', async () => {
    const made = await create('a');
    await failsWith(
      opened.objects.delete(Workload, keyOf('a'), { preconditions: { uid: 'another' } }),
      'Conflict',
    );
    await failsWith(
      opened.objects.delete(Workload, keyOf('a'), { preconditions: { resourceVersion: '1' } }),
      'Conflict',
    );
    const { isGone } = await opened.objects.delete(Workload, keyOf('a'), {
      preconditions: { uid: made.metadata.uid },
    });
    expect(isGone).toBe(true);
  });

  it('stay as they are in a dry run, which says what would be', async () => {
    const dry = await opened.objects.create(Workload, 'default', workload('a'), { dryRun: true });
    expect(dry.object.spec?.['priorityClassName']).toBe('default');
    expect(opened.cache.get(keyOf('a'))).toBeUndefined();
    await create('a');
    await opened.objects.delete(Workload, keyOf('a'), { dryRun: true });
    expect(opened.cache.get(keyOf('a'))).toBeDefined();
  });

  it('are refused with every error at once, each with its path, its value and what is allowed', async () => {
    const wrong = workload('a', { type: 'Servic', replicas: -1, surprise: true });
    const error = await failsWith(opened.objects.create(Workload, 'default', wrong), 'Invalid');
    for (const part of [
      'spec.type',
      'did you mean Service',
      'spec.replicas',
      'at least 0 (it is -1)',
      'spec.surprise',
      'unknown field',
    ]) {
      expect(error.message).toContain(part);
    }
    const combination = workload('b', { onNodeLost: { action: 'Replace' } });
    (combination.spec as { template: Record<string, unknown> }).template['execution'] = 'AtMostOne';
    expect(
      (await failsWith(opened.objects.create(Workload, 'default', combination), 'Invalid')).message,
    ).toContain('onNodeLost');
  });

  it('drop unknown fields with a warning, or without, where the client asks for that', async () => {
    const odd = workload('a', { surprise: true });
    const warned = await opened.objects.create(Workload, 'default', odd, { fieldValidation: 'Warn' });
    expect(warned.warnings).toEqual(['unknown field "spec.surprise"']);
    expect(warned.object.spec).not.toHaveProperty('surprise');
    const ignored = await opened.objects.create(
      Workload,
      'default',
      { ...odd, metadata: { ...odd.metadata, name: 'b' } },
      { fieldValidation: 'Ignore' },
    );
    expect(ignored.warnings).toEqual([]);
  });

  describe('with server-side apply', () => {
    const apply = (manager: string, spec: object, force = false) =>
      opened.objects.apply(
        Workload,
        keyOf('a'),
        {
          ...draft('Workload', 'a', spec),
          metadata: { name: 'a', namespace: 'default' } as BerthObject['metadata'],
        },
        { manager, force },
      );
    const whole = { type: 'Service', replicas: 2, template: { run: { process: { command: ['x'] } } } };

    it('tell a second manager of its conflict, and give it the field when it insists', async () => {
      expect((await apply('one', whole)).isNew).toBe(true);
      const error = await failsWith(apply('two', { ...whole, replicas: 5 }), 'Conflict');
      expect(error.message).toContain('"one"');
      expect(error.message).toContain('.spec.replicas');
      const { written } = await apply('two', { ...whole, replicas: 5 }, true);
      expect(written.object.spec?.['replicas']).toBe(5);
      await failsWith(apply('one', whole), 'Conflict');
    });

    it('lose what their only manager leaves out, and keep what another one also wants', async () => {
      await apply('one', { ...whole, suspend: true, priorityClassName: 'default' });
      await apply('two', { ...whole, priorityClassName: 'default' });
      const { written } = await apply('one', whole);
      expect(written.object.spec?.['suspend']).toBe(false);
      expect(written.object.spec?.['priorityClassName']).toBe('default');
    });

    it('do not change when the same is applied again', async () => {
      const first = (await apply('one', whole)).written.object;
      expect((await apply('one', whole)).written.object).toEqual(first);
    });
  });
});
