import { VirtualTime } from '../env/virtual.js';
import { builtinPolicy } from '../model/policy.js';
import type { Authority, Leading } from '../model/ports.js';
import { objectKey, statusKey } from '../model/records.js';
import { CellCore } from './cell-core.js';
import { Scheduler } from './scheduler.js';
import { MapRecords, ScriptedAuthority } from './small-cell.fixture.js';

interface WorkloadOptions {
  readonly spec?: object;
  readonly template?: object;
  readonly placement?: object;
  readonly priority?: string;
  readonly cpu?: string;
}

interface NodeOptions {
  readonly spec?: object;
  readonly agent?: object;
  readonly cpuMilli?: number;
}

/** The real shell and the real core over records in a map, in virtual time, with an authority that takes every hold. */
export class WokenCell {
  readonly world = new VirtualTime({ seed: 1 });
  readonly records = new MapRecords();
  readonly authority = new ScriptedAuthority(this.records);
  /** Names of replicas that were given a hold. */
  readonly reserved: string[] = [];
  readonly scheduler: Scheduler;

  constructor() {
    const { world, records, authority, reserved } = this;
    const leading: Leading = {
      run: (lead, signal) => lead({ epoch: { cell: 1, number: 1 }, signal, giveUp: () => undefined }),
    };
    const reserve: Authority['reserve'] = ({ replica }) => {
      reserved.push(replica.name);
      records.stage(replica.name, { stage: 'Scheduled', hold: `h-${replica.name}` });
      const result = { reservation: `h-${replica.name}`, uid: `uid-h-${replica.name}` };
      return Promise.resolve({ kind: 'Committed', result, revision: records.version });
    };
    const machine = world.machine('s');
    records.lead(1);
    this.scheduler = new Scheduler({
      ...{
        authority: { ...authority.port, reserve },
        records,
        env: machine.env,
        leading,
        shard: 0,
        shards: 1,
      },
      ...{ policyRevision: 'test', name: 's', server: 'srv', onProblem: () => undefined },
      newCore: () => new CellCore({ policy: builtinPolicy, seed: 1, ages: () => 0, plugins: [] }),
      decisions: { newName: () => 'd', append: () => undefined },
    });
    this.put('PriorityClass', undefined, 'default', { value: 0 });
    this.tenant('a');
    this.tenant('b', {}, { used: { cpuMilli: 1_000, replicas: 1 }, borrowed: { cpuMilli: 1_000 } });
    world.spawn(machine, 's', () => this.scheduler.run(new AbortController().signal));
  }

  put(kind: string, namespace: string | undefined, name: string, spec: object): void {
    const metadata = {
      name,
      ...(namespace !== undefined && { namespace }),
      uid: `uid-${name}`,
      generation: 1,
    };
    this.records.put({ [objectKey(kind, namespace, name)]: { metadata, spec } });
  }

  tenant(name: string, spec: object = {}, account: object = {}): void {
    this.put('Tenant', undefined, name, spec);
    const grant = { most: {}, epoch: { cell: 1, number: 1 }, source: 'Whole' };
    this.records.put({ [`/a/tenant/${name}`]: { grant, used: {}, borrowed: {}, lost: {}, ...account } });
  }

  node(name: string, used: number, { spec = {}, agent = {}, cpuMilli = 1_000 }: NodeOptions = {}): void {
    this.put('Node', undefined, name, spec);
    this.records.put({
      [statusKey('Node', undefined, name)]: { status: { agent } },
      [`/e/${name}`]: { epoch: { cell: 1, number: 1 }, state: 'Open', operation: 'x' },
    });
    this.account(name, used, {}, cpuMilli);
  }

  account(node: string, used: number, revisions: object = {}, cpuMilli = 1_000): void {
    this.records.put({
      [`/a/node/${node}`]: {
        gate: { state: 'Open', since: '' },
        ...{ allocatable: { cpuMilli, memoryBytes: 2 ** 30 }, devices: {} },
        used: { cpuMilli: used, replicas: used > 0 ? 1 : 0 },
        ...{ claims: { devices: {}, ports: {} }, revisions },
      },
    });
  }

  workload(tenant: string, name: string, options: WorkloadOptions = {}): void {
    const { spec = {}, template = {}, placement = {}, priority = 'default', cpu = '1' } = options;
    const common = {
      template: { run: { process: { command: ['x'] } }, resources: { cpu }, ...template },
      ...{ placement, priorityClassName: priority },
    };
    this.put('Workload', tenant, name, { type: 'Service', ...common, ...spec });
    this.put('WorkloadRevision', tenant, `${name}-1`, { workload: name, revision: 1, ...common });
  }

  /** A replica of tenant `b` that runs on a node, and has all of it. */
  victim(name: string, node: string, workload: string): void {
    const revision = `${workload}-1`;
    const amounts = { cpu: '1' };
    this.records.put({
      [objectKey('Replica', 'b', name)]: {
        metadata: { name, namespace: 'b', uid: `uid-${name}` },
        spec: { workload, slot: name, incarnation: 1, revision },
      },
      [statusKey('Replica', 'b', name)]: {
        status: {
          stage: 'Ready',
          binding: { node, fence: '1' },
          charge: {
            tenant: 'b',
            node,
            rank: 'Borrowed',
            amounts,
            workload,
            revision,
            region: 'local',
            zone: 'local',
          },
        },
      },
    });
  }

  isBound(name: string): boolean {
    return this.records.statusOf(name)?.stage === 'Bound';
  }

  /** What a replica says of why it waits. */
  said(name: string): string | undefined {
    return this.records.statusOf(name)?.conditions?.[0]?.reason;
  }

  async forMs(ms: number): Promise<void> {
    await this.world.run(this.world.nowMs + ms);
  }

  /** How long it took until that was so; at most 100 s. */
  async msUntil(isSo: () => boolean): Promise<number> {
    const from = this.world.nowMs;
    for (let at = 0; at < 1_000 && !isSo(); at++) await this.forMs(100);
    return this.world.nowMs - from;
  }
}
