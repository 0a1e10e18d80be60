import type { Random } from '../../env/random.js';
import { isBerthError } from '../../model/errors.js';
import type { Node } from '../../model/kinds/node.js';
import type { Objects } from '../../model/ports.js';
import { recoveryPoolLabel } from '../../model/records.js';
import { cutOff } from './silence.js';
import type { SimProcess } from './sim-process.js';
import { wish } from './wish.js';
import type { World } from './world.js';

type Fields = Readonly<Record<string, unknown>>;

const [firstMs, everyMs, workloadsMax] = [3_000, 2_500, 9] as const;

/**
 * Changes whatever there is in a cell where nothing fails: workloads come, go and grow, tenants, regions, priority classes
 * and nodes change, machines offer other things and are silent for a while. Until faults stop.
 */
export class RestlessOperator {
  readonly #random: Random;
  #made = 0;

  constructor(
    private readonly world: World,
    private readonly parts: {
      readonly user: SimProcess;
      readonly servers: readonly SimProcess[];
      readonly nodes: readonly string[];
      readonly tenants: readonly string[];
    },
  ) {
    this.#random = world.wire.random;
    world.wire.after(firstMs, () => this.#go());
  }

  #go(): void {
    const { world } = this;
    if (world.faults.isStopped) return;
    world.wire.after(150 + this.#random.integer(everyMs), () => this.#go());
    const objects = world.reaches.get(this.parts.user)?.objects;
    if (objects !== undefined)
      this.#change(objects).catch((error: unknown) => {
        // Impossible combinations are refused, as for any user.
        if (!isBerthError(error)) throw error;
      });
  }

  async #change(objects: Objects): Promise<void> {
    const random = this.#random;
    const { nodes, tenants } = this.parts;
    const [node, tenant] = [random.pick(nodes), random.pick(tenants)];
    const set = (
      kind: string,
      namespace: string | undefined,
      name: string,
      fields: Fields,
    ): Promise<unknown> =>
      objects.modify(kind, namespace, name, 'spec', (live) => ({
        ...live,
        spec: { ...live.spec, ...fields },
      }));
    const workloads = [...objects.list('Workload')];
    const maybe = <T>(value: T): readonly T[] => (random.chance(0.4) ? [value] : []);
    if (workloads.length === 0 || (workloads.length < workloadsMax && random.chance(0.2)))
      return void (await this.#create(objects, tenant));
    const { metadata, spec } = random.pick(workloads);
    const setWorkload = (fields: Fields): Promise<unknown> =>
      set('Workload', metadata.namespace, metadata.name, fields);
    const guaranteed = random.integer(4);
    const changes: readonly (() => unknown)[] = [
      () => objects.delete('Workload', metadata.namespace, metadata.name, metadata.uid),
      () => setWorkload({ replicas: random.integer(4) }),
      () => setWorkload({ replicas: random.integer(4) }),
      () => setWorkload({ disruption: { maxUnavailable: 1 + random.integer(2) } }),
      () => setWorkload({ priorityClassName: random.pick(['default', 'mid', 'high']) }),
      () =>
        setWorkload({
          placement: random.chance(0.5)
            ? {}
            : { ...(spec?.['placement'] as object), nodeSelector: { pool: random.pick(['x', 'y']) } },
        }),
      () =>
        set('PriorityClass', undefined, random.pick(['mid', 'high']), {
          value: random.pick([10, 50, 100]),
          preemption: random.pick(['Allowed', 'Never']),
        }),
      () =>
        set('Tenant', undefined, tenant, {
          guaranteed: random.chance(0.5) ? { cpu: String(guaranteed) } : {},
          limit: { cpu: String(guaranteed + random.integer(9)) },
        }),
      () => set('Tenant', undefined, tenant, { residency: random.pick([[], ['EU'], ['US'], ['EU', 'US']]) }),
      () =>
        set('Region', undefined, random.pick(['eu', 'us']), {
          zones: random.pick([['a'], ['a', 'b']]),
          jurisdiction: random.pick(['EU', 'US']),
        }),
      () => set('Node', undefined, node, { unschedulable: random.chance(0.4) }),
      () => set('Node', undefined, node, { taints: maybe({ key: 'kept', effect: 'NoSchedule' }) }),
      () => set('Node', undefined, node, { tenants: maybe(tenant) }),
      () =>
        objects.modify<Node>('Node', undefined, node, 'spec', (live) => {
          const { drain: _, ...rest } = live.spec;
          const [drain] = maybe({ reason: 'maintenance' });
          return { ...live, spec: drain === undefined ? rest : { ...rest, drain } };
        }),
      () =>
        objects.modify<Node>('Node', undefined, node, 'spec', (live) => ({
          ...live,
          metadata: {
            ...live.metadata,
            labels: {
              pool: random.pick(['x', 'y']),
              ...(random.chance(0.2) && { [recoveryPoolLabel]: 'true' }),
            },
          },
        })),
      () => this.#offer(node),
      () => this.#silence(node),
    ];
    await random.pick(changes)();
  }

  #create(objects: Objects, tenant: string): Promise<unknown> {
    const random = this.#random;
    const topology = random.pick(['Node', 'Zone']);
    const others = { selector: { matchLabels: { app: 'b' } } };
    const placement = random.pick([
      ...[{}, {}, { spread: [{ topology, maxSkew: 1 }] }, { affinity: [{ topology, ...others }] }],
      ...[{ antiAffinity: [{ topology }] }, { antiAffinity: [{ topology, ...others }] }],
      ...[{ nodeSelector: { pool: 'x' } }, { regions: [random.pick(['eu', 'us'])] }, { zones: ['b'] }],
    ]);
    const resources = {
      cpu: `${500 * (1 + random.integer(5))}m`,
      ...(random.chance(0.2) && { devices: { gpu: 1 } }),
      ...(random.chance(0.2) && { ports: ['http:8080'] }),
    };
    const template = {
      ...{ run: { process: { command: ['work'] } }, labels: { app: random.pick(['a', 'b']) }, resources },
      ...(random.chance(0.25) && { execution: 'AtMostOne' }),
    };
    this.#made += 1;
    const name = `work-${this.#made}`;
    const wanted = wish('Workload', tenant, name, {
      ...{ type: 'Service', replicas: 1 + random.integer(3), placement, template },
      ...{ priorityClassName: random.pick(['default', 'default', 'mid', 'high']) },
      disruption: { maxUnavailable: 1 + random.integer(2) },
      ...(random.chance(0.15) && { gang: { minAvailable: 2 }, replicas: 3 }),
    });
    return objects.create('Workload', tenant, wanted);
  }

  /** A machine has other amounts, devices and drivers now. */
  #offer(node: string): void {
    const random = this.#random;
    const gpu = ['gpu-0', 'gpu-1', 'gpu-2'].slice(0, random.integer(4));
    this.world.offer.get(node)?.({
      allocatable: { cpu: String(1 + random.integer(5)), memory: '16Gi', devices: { gpu: gpu.length } },
      devices: { gpu },
      isUnfenced: random.chance(0.2),
      drivers: random.pick([[], ['process'], ['container']]),
    });
  }

  #silence(node: string): void {
    const heal = cutOff(this.world, `agent-${node}`, this.parts.servers);
    this.world.wire.after(1_000 + this.#random.integer(30_000), heal);
  }
}
