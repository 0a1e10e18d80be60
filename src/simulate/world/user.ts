import { isBerthError } from '../../model/errors.js';
import type { BerthObject } from '../../model/object.js';
import type { Node } from '../../model/kinds/node.js';
import type { Objects } from '../../model/ports.js';
import type { Life, SimProcess } from './sim-process.js';
import { makeWishes } from './platform.js';
import type { World } from './world.js';

/**
 * A user and operator: wants things once. A restless one keeps changing their mind until faults stop; then everything
 * is wanted as at first.
 */
export function startUser(world: World, wanted: readonly BerthObject[], isRestless: boolean): SimProcess {
  let hasWished = false;
  return world.addProcess('user', async (life) => {
    const { objects } = await world.reach(life);
    await makeWishes(life, objects, hasWished ? [] : wanted);
    hasWished = true;
    if (!isRestless) return;
    while (!world.faults.isStopped) {
      await life.env.sleep(500 + life.env.random.integer(3_000));
      if (!world.faults.isStopped) await changeMind(life, objects).catch(ignoreKnown);
    }
    // What was changed is put back, so that the end can be judged: nodes are open, all is wanted that was.
    for (;;) {
      await makeWishes(life, objects, wanted);
      for (const node of objects.list<Node>('Node')) await putNodeBack(objects, node).catch(ignoreKnown);
      for (const wish of wanted) await putBack(objects, wish).catch(ignoreKnown);
      await life.env.sleep(5_000);
    }
  });
}

function ignoreKnown(error: unknown): void {
  if (!isBerthError(error)) throw error;
}

async function changeMind(life: Life, objects: Objects): Promise<void> {
  const { random } = life.env;
  const workloads = [...objects.list('Workload')];
  const nodes = [...objects.list<Node>('Node')];
  if (workloads.length === 0 || nodes.length === 0) return;
  const workload = random.pick(workloads);
  const { namespace, name, uid } = workload.metadata;
  const node = random.pick(nodes).metadata.name;
  const changeNode = (spec: object): Promise<unknown> =>
    objects.modify<Node>('Node', undefined, node, 'spec', (live) => ({
      ...live,
      spec: { ...live.spec, ...spec },
    }));
  switch (random.integer(9)) {
    case 0:
    case 1:
      await objects.modify('Workload', namespace, name, 'spec', (live) => ({
        ...live,
        spec: { ...live.spec, replicas: random.integer(5) },
      }));
      return;
    case 2:
      await objects.delete('Workload', namespace, name, uid);
      return;
    case 3: {
      const tenant = random.pick(['alpha', 'beta']);
      const cpu = String(1 + random.integer(9));
      await objects.modify('Tenant', undefined, tenant, 'spec', (live) => ({
        ...live,
        spec: { ...live.spec, guaranteed: {}, limit: { cpu } },
      }));
      return;
    }
    case 4:
      await changeNode({ unschedulable: random.chance(0.5) });
      return;
    case 5:
      await changeNode({ taints: random.chance(0.5) ? [{ key: 'edge', effect: 'NoSchedule' }] : [] });
      return;
    case 6:
      await changeNode({ tenants: random.chance(0.5) ? ['alpha'] : [] });
      return;
    case 7:
      await objects.modify<Node>('Node', undefined, node, 'spec', (live) => {
        const { drain: _, ...spec } = live.spec;
        return { ...live, spec: random.chance(0.5) ? { ...spec, drain: { reason: 'maintenance' } } : spec };
      });
      return;
    default:
      await objects.modify<Node>('Node', undefined, node, 'spec', (live) => ({
        ...live,
        metadata: {
          ...live.metadata,
          labels: { ...live.metadata.labels, pool: random.pick(['general', 'gpu']) },
        },
      }));
  }
}

async function putNodeBack(objects: Objects, { metadata, spec }: Node): Promise<void> {
  const isOpen =
    spec.unschedulable !== true &&
    spec.drain === undefined &&
    (spec.taints ?? []).length + (spec.tenants ?? []).length === 0;
  const pool = metadata.name === 'n3' ? 'gpu' : 'general';
  if (isOpen && metadata.labels?.['pool'] === pool) return;
  await objects.modify<Node>('Node', undefined, metadata.name, 'spec', (live) => {
    const { drain: _, ...rest } = live.spec;
    return {
      ...live,
      metadata: { ...live.metadata, labels: { ...live.metadata.labels, pool } },
      spec: { ...rest, unschedulable: false, taints: [], tenants: [] },
    };
  });
}

async function putBack(objects: Objects, { kind, metadata, spec }: BerthObject): Promise<void> {
  const live = objects.get(kind, metadata.namespace, metadata.name);
  if (live === undefined || live.metadata.deletionTimestamp !== undefined) return;
  const part = kind === 'Workload' ? 'replicas' : kind === 'Tenant' ? 'limit' : undefined;
  if (part === undefined || JSON.stringify(live.spec?.[part]) === JSON.stringify(spec?.[part])) return;
  await objects.modify(kind, metadata.namespace, metadata.name, 'spec', (now) => ({
    ...now,
    spec: { ...now.spec, [part]: spec?.[part] },
  }));
}
