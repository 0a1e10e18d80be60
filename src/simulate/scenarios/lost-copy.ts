import type { Replica } from '../../model/kinds/replica.js';
import type { Workload } from '../../model/kinds/workload.js';
import type { Node } from '../../model/kinds/node.js';
import { isTerminal } from '../../model/stages.js';
import { refOf } from '../../model/replica-ref.js';
import type { Scenario } from '../scenario.js';
import { isUp, liveReplicasOf, replicasOf, shownReplicas, unlessSo } from '../world/cell-facts.js';
import { cutOff } from '../world/silence.js';
import { basics, node, service, startSmallCell } from '../world/small-cell.js';
import { startStaleControllers } from '../world/stale-controllers.js';
import type { SimProcess } from '../world/sim-process.js';
import { whenSo } from '../world/when-so.js';
import { wish } from '../world/wish.js';
import type { World } from '../world/world.js';

const nodes = ['n1', 'n2', 'n3'];
const replace = { onNodeLost: { action: 'Replace', afterSeconds: 45 } };

/** What the user asks for from now on: no second copy, or one again. */
const atMostOne = {
  template: { execution: 'AtMostOne' },
  onNodeLost: { action: 'Fence' },
  rollout: { maxSurge: 0, maxUnavailable: 1 },
};
const atLeastOne = {
  template: { execution: 'AtLeastOne' },
  ...replace,
  rollout: { maxSurge: 0, maxUnavailable: 1 },
};

/** How the replacement ends, or what else its user does, after the workload has come to say AtMostOne. */
const endings = [
  'rollout',
  'not placed yet',
  'deleted',
  'made again',
  'back and forth',
  'scaled',
  'suspended',
  'drain',
] as const;

/** Whoever changes objects in a scenario: each change is tried until it is made. */
class Hands {
  constructor(
    private readonly world: World,
    private readonly member: SimProcess,
  ) {}

  change(name: string, spec: { readonly template?: object; readonly [field: string]: unknown }): void {
    this.#until(async ({ objects }) => {
      await objects.modify<Workload>('Workload', 'risk', name, 'spec', (live) => {
        const { onNodeLost: _, ...rest } = live.spec;
        const kept = spec['onNodeLost'] === undefined ? live.spec : rest;
        return { ...live, spec: { ...kept, ...spec, template: { ...live.spec.template, ...spec.template } } };
      });
      return true;
    });
  }

  drain(name: string): void {
    this.#until(async ({ objects }) => {
      await objects.modify<Node>('Node', undefined, name, 'spec', (live) => ({
        ...live,
        spec: { ...live.spec, drain: { reason: 'maintenance' } },
      }));
      return true;
    });
  }

  deleteReplica({ metadata }: Replica): void {
    this.#until(async ({ objects }) => {
      await objects.delete('Replica', metadata.namespace, metadata.name, metadata.uid);
      return true;
    });
  }

  /** Deletes a workload, and makes one of its name and spec as soon as that can be. */
  makeAgain(name: string): void {
    const old = this.world.history.get(`/o/Workload/risk/${name}`) as Workload;
    this.#until(async ({ objects }) => {
      await objects.delete('Workload', 'risk', name, old.metadata.uid);
      return true;
    });
    this.#until(async ({ objects }) => {
      await objects.create('Workload', 'risk', wish('Workload', 'risk', name, old.spec));
      return true;
    });
  }

  /** Stops a replica as a rollout would. */
  rollOut(replica: Replica): void {
    this.#until(async ({ authority }) => {
      const lease = { name: 'rollout', holder: 'rollout', durationSeconds: 15, operation: 'take/rollout' };
      const taken = await authority.takeLease(lease);
      if (taken.kind !== 'Committed' && taken.kind !== 'AlreadyCommitted') return false;
      const { kind } = await authority.evict({
        actor: { kind: 'rollout', name: 'rollout', lease: { name: 'rollout', epoch: taken.result.epoch } },
        ...{ replica: refOf(replica), reason: 'NewRevision', operation: `rollout/${replica.metadata.uid}` },
      });
      return kind === 'Committed' || kind === 'AlreadyCommitted';
    });
  }

  /** A person switches the machine off, and then says so. */
  attest(name: string): void {
    this.world.switchOff.get(name)?.();
    this.#until(async ({ authority }) => {
      const epoch = (this.world.history.get(`/s/Node/_/${name}`) as Node | undefined)?.status?.epoch;
      if (epoch === undefined) return false;
      const { kind } = await authority.attest({
        ...{ actor: { kind: 'operator', name: 'ada' }, node: name, nodeEpoch: epoch, forSeconds: 3_600 },
        ...{ reason: 'switched off by hand', operation: 'attest/1' },
      });
      return kind === 'Committed' || kind === 'AlreadyCommitted';
    });
  }

  #until(act: (reach: NonNullable<ReturnType<World['reaches']['get']>>) => Promise<boolean>): void {
    const again = (): void => {
      this.world.wire.after(1_000, () => this.#until(act));
    };
    const reach = this.world.reaches.get(this.member);
    if (reach === undefined || reach.life.isOver) return again();
    act(reach).then(
      (isDone) => {
        if (!isDone) again();
      },
      (error: unknown) => {
        // What is to go is gone.
        if (!String(error).includes('NotFound')) again();
      },
    );
  }
}

const newestOf = (world: World, workload: string): Replica | undefined =>
  replicasOf(world, workload).toSorted((a, b) => b.spec.incarnation - a.spec.incarnation)[0];

/**
 * [S5] h11 of the histories: incarnation 1 is lost and may run on, incarnation 2 runs in its place because the workload
 * said Replace; the workload comes to say AtMostOne, and incarnation 2 ends. The next one waits for proof about the first.
 */
export const h11: Scenario = {
  name: 'h11',
  about:
    'a workload comes to say AtMostOne while a lost copy of it may still run: whatever its user does then, nothing starts beside that copy',
  chaosMs: 230_000,
  settleMs: 200_000,
  plan: (usual) => ({
    rates: {
      'store.replyLost': 0.01,
      'watch.lag': usual.rates['watch.lag'] ?? 0.02,
      'wakeUp.dropped': usual.rates['wakeUp.dropped'] ?? 0.05,
    },
    events: [],
  }),
  begin: (world) => {
    const { seed } = world.options;
    const ending = endings[seed % endings.length] ?? 'rollout';
    const isPlaced = ending !== 'not placed yet';
    const { servers, user } = startSmallCell(world, {
      nodes: [node('n1', '2'), node('n2', '2', { zone: 'b' }), node('n3', '2')],
      wishes: [
        ...basics('risk'),
        service('risk', 'scores', 1, { cpu: '1' }, replace),
        wish('Workload', 'risk', 'logs', {
          ...{
            type: 'Daemon',
            template: { run: { process: { command: ['work'] } }, resources: { cpu: '100m' } },
          },
          ...replace,
        }),
        service('risk', 'crew', 2, { cpu: '300m' }, { gang: { minAvailable: 2 }, ...replace }),
      ],
      detects: true,
    });
    startStaleControllers(world);
    const hands = new Hands(world, user);
    const names = ['scores', 'logs', 'crew'];
    let lostOn = '';
    let heal = (): void => undefined;
    const seen = { replaced: false, bound: false, waited: false };

    const fallSilent = (): void => {
      lostOn = newestOf(world, 'scores')?.status?.binding?.node ?? '';
      heal = cutOff(world, `agent-${lostOn}`, servers);
      // Nobody takes the place of the lost one: the others have no room while they are cordoned.
      if (!isPlaced) for (const name of nodes) cordon(name, true);
      whenSo(world, isReplaced, changeMode);
    };
    const cordon = (name: string, unschedulable: boolean): void => {
      void world.reaches
        .get(user)
        ?.objects.modify<Node>('Node', undefined, name, 'spec', (live) => ({
          ...live,
          spec: { ...live.spec, unschedulable },
        }))
        .catch(() => world.wire.after(1_000, () => cordon(name, unschedulable)));
    };
    const isReplaced = (): boolean => {
      const newest = newestOf(world, 'scores');
      return newest?.spec.incarnation === 2 && (!isPlaced || isUp(newest));
    };
    const changeMode = (): void => {
      seen.replaced = true;
      for (const name of names) hands.change(name, atMostOne);
      const isChanged = (): boolean =>
        names.every((name) => {
          const stored = world.history.get(`/o/Workload/risk/${name}`) as Workload | undefined;
          return stored?.spec.template.execution === 'AtMostOne';
        });
      // At the same moment, so that a bind and the change race. Whichever comes first, the other one sees it.
      if (!isPlaced) for (const name of nodes) cordon(name, false);
      whenSo(world, isChanged, () => {
        const { stage = 'Queued' } = newestOf(world, 'scores')?.status ?? {};
        seen.bound = !isPlaced && stage !== 'Queued' && !isTerminal(stage);
      });
      world.wire.after(3_000, end);
    };
    const end = (): void => {
      const replacement = newestOf(world, 'scores');
      if (replacement === undefined) return;
      switch (ending) {
        case 'rollout':
          hands.rollOut(replacement);
          break;
        case 'deleted':
          hands.deleteReplica(replacement);
          break;
        case 'drain':
          hands.drain(replacement.status?.binding?.node ?? '');
          break;
        case 'suspended':
          for (const name of names) hands.change(name, { suspend: true });
          hands.deleteReplica(replacement);
          world.wire.after(12_000, () => names.forEach((name) => hands.change(name, { suspend: false })));
          break;
        case 'scaled':
          hands.change('scores', { replicas: 0 });
          world.wire.after(12_000, () => hands.change('scores', { replicas: 1 }));
          break;
        case 'back and forth':
          hands.change('scores', atLeastOne);
          hands.deleteReplica(replacement);
          world.wire.after(1_000 + (seed % 5) * 1_000, () => hands.change('scores', atMostOne));
          break;
        case 'made again':
          hands.makeAgain('scores');
          break;
        case 'not placed yet':
      }
      for (const name of ['logs', 'crew']) {
        const newest = newestOf(world, name);
        if (newest !== undefined && newest.spec.incarnation > 1) hands.deleteReplica(newest);
      }
      world.wire.after(50_000, () => {
        const all = replicasOf(world, 'scores');
        seen.waited = all.every(({ metadata, status }) => {
          const isLost = metadata.name === 'scores-0-1';
          return isLost ? status?.stage === 'Unknown' : isTerminal(status?.stage ?? 'Queued');
        });
      });
    };
    whenSo(
      world,
      () => isUp(newestOf(world, 'scores') ?? ({} as Replica)) && liveReplicasOf(world, 'crew').every(isUp),
      () => world.wire.after(3_000, fallSilent),
    );
    // The proof: a person's word in every third history, else the node is back and its agent says that it has stopped.
    world.wire.after(200_000, () => {
      if (seed % 3 === 2) hands.attest(lostOn);
      world.wire.after(5_000, () => heal());
    });
    return () => {
      const live = liveReplicasOf(world, 'scores');
      return unlessSo(
        [seen.replaced, 'the lost copy was never replaced, so nothing was shown'],
        [
          seen.waited || seen.bound || ending === 'back and forth',
          'the next incarnation did not wait for the lost copy',
        ],
        [
          live.length === 1 && live.every(isUp),
          `it does not run again: ${shownReplicas(replicasOf(world, 'scores'))}`,
        ],
      );
    };
  },
  mustCheck: ['S5', 'S6', 'S7', 'S12', 'L1', 'L3', 'L4', 'L5', 'L9'],
  mustOccur: ['partition'],
};
