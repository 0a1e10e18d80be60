import {
  type KubernetesListObject,
  type KubernetesObject,
  CustomObjectsApi,
  KubeConfig,
  makeInformer,
  PatchStrategy,
  setHeaderOptions,
} from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from './running.fixture.js';

interface PriorityClass extends KubernetesObject {
  readonly spec: { readonly value: number };
}

// A kind that no controller touches: whatever happens to its objects, this test did it.
const kind = { group: 'berth.dev', version: 'v1', plural: 'priorityclasses' };
const path = '/apis/berth.dev/v1/priorityclasses';
const priorityClass = (name: string): object => ({
  apiVersion: 'berth.dev/v1',
  kind: 'PriorityClass',
  metadata: { name },
  spec: { value: 1 },
});

describe("Kubernetes' own client for Node", () => {
  let server: TestServer;
  let config: KubeConfig;
  let api: CustomObjectsApi;
  beforeAll(async () => {
    server = await startServer();
    config = new KubeConfig();
    config.loadFromFile(server.kubeconfig);
    api = config.makeApiClient(CustomObjectsApi);
  });
  afterAll(() => server.dispose());
  const list = async (): Promise<KubernetesListObject<PriorityClass>> =>
    (await api.listClusterCustomObject(kind)) as KubernetesListObject<PriorityClass>;

  it('creates, reads, lists, patches and deletes', async () => {
    await api.createClusterCustomObject({ ...kind, body: priorityClass('one') });
    await expect(
      api.createClusterCustomObject({ ...kind, body: priorityClass('one') }),
    ).rejects.toMatchObject({
      code: 409,
    });
    expect((await list()).items.map(({ metadata }) => metadata?.name)).toEqual(['default', 'one']);
    const patched = (await api.patchClusterCustomObject(
      { ...kind, name: 'one', body: { spec: { value: 4 } } },
      setHeaderOptions('Content-Type', PatchStrategy.MergePatch),
    )) as PriorityClass;
    expect(patched.spec.value).toBe(4);
    expect(await api.getClusterCustomObject({ ...kind, name: 'one' })).toEqual(patched);
    await api.deleteClusterCustomObject({ ...kind, name: 'one' });
    await expect(api.getClusterCustomObject({ ...kind, name: 'one' })).rejects.toMatchObject({
      code: 404,
    });
  });

  it('is told by an informer of what there is, and then of every change', async () => {
    await api.createClusterCustomObject({ ...kind, body: priorityClass('there') });
    const informer = makeInformer(config, path, list);
    const told: string[] = [];
    const tell =
      (what: string) =>
      ({ metadata, spec }: PriorityClass): void =>
        void told.push(`${what} ${metadata?.name} ${spec.value}`);
    informer.on('add', tell('add'));
    informer.on('update', tell('update'));
    informer.on('delete', tell('delete'));
    await informer.start();
    await api.createClusterCustomObject({ ...kind, body: priorityClass('later') });
    await api.patchClusterCustomObject(
      { ...kind, name: 'there', body: { spec: { value: 2 } } },
      setHeaderOptions('Content-Type', PatchStrategy.MergePatch),
    );
    await api.deleteClusterCustomObject({ ...kind, name: 'later' });
    await expect
      .poll(() => told)
      .toEqual(['add default 0', 'add there 1', 'add later 1', 'update there 2', 'delete later 1']);
    expect(informer.list().map(({ metadata }) => metadata?.name)).toEqual(['default', 'there']);
    await informer.stop();
    expect(server.defects).toEqual([]);
  });
});
