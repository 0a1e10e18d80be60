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

interface Workload extends KubernetesObject {
  readonly spec: { readonly replicas: number };
}

const kind = { group: 'berth.dev', version: 'v1', namespace: 'default', plural: 'workloads' };
const path = '/apis/berth.dev/v1/namespaces/default/workloads';
const workload = (name: string): object => ({
  apiVersion: 'berth.dev/v1',
  kind: 'Workload',
  metadata: { name },
  spec: { type: 'Service', replicas: 1, template: { run: { process: { command: ['x'] } } } },
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
  const list = async (): Promise<KubernetesListObject<Workload>> =>
    (await api.listNamespacedCustomObject(kind)) as KubernetesListObject<Workload>;

  it('creates, reads, lists, patches and deletes', async () => {
    await api.createNamespacedCustomObject({ ...kind, body: workload('one') });
    await expect(api.createNamespacedCustomObject({ ...kind, body: workload('one') })).rejects.toMatchObject({
      code: 409,
    });
    expect((await list()).items.map(({ metadata }) => metadata?.name)).toEqual(['one']);
    const patched = (await api.patchNamespacedCustomObject(
      { ...kind, name: 'one', body: { spec: { replicas: 4 } } },
      setHeaderOptions('Content-Type', PatchStrategy.MergePatch),
    )) as Workload;
    expect(patched.spec.replicas).toBe(4);
    expect(await api.getNamespacedCustomObject({ ...kind, name: 'one' })).toEqual(patched);
    await api.deleteNamespacedCustomObject({ ...kind, name: 'one' });
    await expect(api.getNamespacedCustomObject({ ...kind, name: 'one' })).rejects.toMatchObject({
      code: 404,
    });
  });

  it('is told by an informer of what there is, and then of every change', async () => {
    await api.createNamespacedCustomObject({ ...kind, body: workload('there') });
    const informer = makeInformer(config, path, list);
    const told: string[] = [];
    const tell =
      (what: string) =>
      ({ metadata, spec }: Workload): void =>
        void told.push(`${what} ${metadata?.name} ${spec.replicas}`);
    informer.on('add', tell('add'));
    informer.on('update', tell('update'));
    informer.on('delete', tell('delete'));
    await informer.start();
    await api.createNamespacedCustomObject({ ...kind, body: workload('later') });
    await api.patchNamespacedCustomObject(
      { ...kind, name: 'there', body: { spec: { replicas: 2 } } },
      setHeaderOptions('Content-Type', PatchStrategy.MergePatch),
    );
    await api.deleteNamespacedCustomObject({ ...kind, name: 'later' });
    await expect
      .poll(() => told, { timeout: 20_000 })
      .toEqual(['add there 1', 'add later 1', 'update there 2', 'delete later 1']);
    expect(informer.list().map(({ metadata }) => metadata?.name)).toEqual(['there']);
    await informer.stop();
    expect(server.defects).toEqual([]);
  });
});
