import { isBerthError } from '../../../model/errors.js';
import type { BerthObject } from '../../../model/object.js';
import type { Node } from '../../../model/kinds/node.js';
import type { Replica } from '../../../model/kinds/replica.js';
import { type NodeAccount, nodeAccountKey, type NodeEpoch, nodeEpochKey } from '../../../model/records.js';
import { refOf } from '../../../model/replica-ref.js';
import { type ParkReason, parkReasons } from '../../../propose/queue/cures.js';
import { startAgent } from '../../world/agent.js';
import type { NodeShape } from '../../world/node-shape.js';
import { isUp, liveReplicasOf } from '../../world/cell-facts.js';
import { cutOff } from '../../world/silence.js';
import type { SimProcess } from '../../world/sim-process.js';
import { wish } from '../../world/wish.js';
import type { World } from '../../world/world.js';

const isBoundTo = (node: string, { status }: Pick<Replica, 'status'>): boolean =>
  status?.stage === 'Bound' && status.binding?.node === node;

type Spec = Readonly<Record<string, unknown>>;

const retryMs = 50;
/** The world of one row of the table: its operator's hands, and what the scheduler's queue shows. */
export class ParkedCell {
  #heal: () => void = () => undefined;

  constructor(
    readonly world: World,
    private readonly parts: {
      readonly server: SimProcess;
      readonly scheduler: SimProcess;
      readonly user: SimProcess;
    },
  ) {}

  get scheduler(): SimProcess {
    return this.parts.scheduler;
  }

  /** Adds a machine. */
  addNode(shape: NodeShape): void {
    startAgent(this.world, [this.parts.server], shape, { isCareless: false, exits: 0 }).start();
  }

  /** Cuts a machine off from the server, until `heal`. */
  silence(node: string): void {
    this.#heal = cutOff(this.world, `agent-${node}`, [this.parts.server]);
  }

  /** Cuts a machine off, and returns whether that was so long ago. */
  silenceFor(node: string, ms: number): () => boolean {
    this.silence(node);
    const fromMs = this.world.time.nowMs;
    return () => this.world.time.nowMs - fromMs > ms;
  }

  heal(): void {
    this.#heal();
  }

  create(wanted: BerthObject): void {
    this.#insist(() => this.#objects.create(wanted.kind, wanted.metadata.namespace, wanted));
  }

  createRegion(name: string, jurisdiction: string): void {
    this.create(wish('Region', undefined, name, { jurisdiction, zones: ['a'] }));
  }

  remove(kind: string, tenant: string | undefined, name: string): void {
    this.#insist(() => {
      const object = this.#objects.get(kind, tenant, name);
      return object === undefined
        ? Promise.resolve()
        : this.#objects.delete(kind, tenant, name, object.metadata.uid);
    });
  }

  /** Merges fields into the spec of an object. Undefined takes a field out. */
  set(kind: string, tenant: string | undefined, name: string, fields: Spec): void {
    this.#insist(() =>
      this.#objects.modify(kind, tenant, name, 'spec', (live) => ({
        ...live,
        spec: Object.fromEntries(
          Object.entries({ ...live.spec, ...fields }).filter(([, value]) => value !== undefined),
        ),
      })),
    );
  }

  label(node: string, labels: Readonly<Record<string, string>>): void {
    this.#insist(() =>
      this.#objects.modify('Node', undefined, node, 'spec', (live) => ({
        ...live,
        metadata: { ...live.metadata, labels },
      })),
    );
  }

  /** Deletes the revision of a workload; what would make it again is lost, until `direct` is taken away. */
  removeRevision(workload: string): void {
    this.world.direct = ({ writes }) =>
      writes.some(({ key, kind }) => kind === 'put' && key.startsWith('/o/WorkloadRevision/'))
        ? 'store.requestLost'
        : undefined;
    for (const [key] of this.#revisions(workload)) {
      const [, , , tenant, name = ''] = key.split('/');
      this.remove('WorkloadRevision', tenant, name);
    }
  }

  hasNoRevision(workload: string): boolean {
    return this.#revisions(workload).length === 0;
  }

  /** Loses bindings to a node on their way to the store, `most` of them, and returns how many were lost. */
  loseBindings(node: string, most: number): () => number {
    let lost = 0;
    this.world.direct = ({ writes }) => {
      const isBinding = writes.some(
        (write) =>
          write.kind === 'put' &&
          write.key.startsWith('/s/Replica/') &&
          isBoundTo(node, JSON.parse(Buffer.from(write.value).toString()) as Pick<Replica, 'status'>),
      );
      if (!isBinding || lost >= most) return undefined;
      lost += 1;
      return 'store.requestLost';
    };
    return () => lost;
  }

  /** Binds the replica of a workload to a node, as another scheduler under its own lease. */
  bindBy(lease: string, workload: string, node: string, then: () => void): void {
    this.#insist(async () => {
      const reach = this.world.reaches.get(this.parts.user);
      const [replica] = this.replicas(workload);
      const nodeEpoch = this.#objects.get<Node>('Node', undefined, node)?.status?.epoch;
      if (reach === undefined || replica === undefined || nodeEpoch === undefined)
        throw new Error(`${workload} or ${node} is not there`);
      const { authority } = reach;
      const taken = await authority.takeLease({
        ...{ name: lease, holder: 'rival', durationSeconds: 15, operation: `take/${lease}` },
      });
      if (taken.kind !== 'Committed' && taken.kind !== 'AlreadyCommitted') throw new Error(taken.kind);
      const actor = {
        kind: 'scheduler',
        name: 'rival',
        lease: { name: lease, epoch: taken.result.epoch },
      } as const;
      await authority.bind([
        {
          ...{ actor, replica: refOf(replica), node, nodeEpoch, operation: `rival/${replica.metadata.uid}` },
          ...{ snapshotRevision: '1', policyRevision: 'builtin' },
        },
      ]);
      then();
    });
  }

  /** A person's word that nothing of a node runs any more: its epoch is closed. */
  attest(node: string): void {
    this.#insist(async () => {
      const { epoch } = this.#objects.get<Node>('Node', undefined, node)?.status ?? {};
      const authority = this.world.reaches.get(this.parts.user)?.authority;
      if (epoch === undefined || authority === undefined) throw new Error(`${node} has no epoch`);
      await authority.attest({
        ...{ actor: { kind: 'operator', name: 'operator' }, node, nodeEpoch: epoch },
        ...{ reason: 'test', forSeconds: 600, operation: `attest/${node}` },
      });
    });
  }

  /** Calls back once, at the first commit after which it is so. */
  when(isSo: () => boolean, then: () => void): void {
    if (isSo()) then();
    else this.world.wire.after(1, () => this.when(isSo, then));
  }

  replicas(workload: string): readonly Replica[] {
    return liveReplicasOf(this.world, workload);
  }

  /** Whether so many replicas of the workload run. */
  areUp(workload: string, count: number): boolean {
    const live = this.replicas(workload);
    return live.length === count && live.every(isUp);
  }

  gateOf(node: string): string | undefined {
    return (this.world.history.get(nodeAccountKey(node)) as NodeAccount | undefined)?.gate.state;
  }

  epochOf(node: string): string | undefined {
    return (this.world.history.get(nodeEpochKey(node)) as NodeEpoch | undefined)?.state;
  }

  /** Under which reasons somebody is parked in the queues. */
  parkedUnder(): readonly ParkReason[] {
    return parkReasons.filter((reason) =>
      this.world.schedulers.some(({ term }) => term?.queue.isParkedUnder(reason) === true),
    );
  }

  #revisions(workload: string): readonly (readonly [string, unknown])[] {
    return [...this.world.history.under(`/o/WorkloadRevision/shop/${workload}-`)];
  }

  get #objects() {
    const reach = this.world.reaches.get(this.parts.user);
    if (reach === undefined) throw new Error('the user is not there yet');
    return reach.objects;
  }

  #insist(act: () => Promise<unknown>): void {
    const again = (): void => this.#insist(act);
    try {
      act().catch((error: unknown) => {
        if (!isBerthError(error) && !(error instanceof Error)) throw error;
        this.world.wire.after(retryMs, again);
      });
    } catch {
      this.world.wire.after(retryMs, again);
    }
  }
}
