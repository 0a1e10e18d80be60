import { setMaxListeners } from 'node:events';
import type { Env } from '../env/env.js';
import type { Node } from '../model/kinds/node.js';
import type { Replica } from '../model/kinds/replica.js';
import type { WorkloadRevision } from '../model/kinds/workload-revision.js';
import { ObjectIndex } from '../model/object-index.js';
import type { BerthObject } from '../model/object.js';
import type { Actor, Authority, LeadingTerm, Objects } from '../model/ports.js';
import type { FenceRecord } from '../model/records.js';
import { BrakeObserver } from '../observe/brake-observer.js';
import type { BrakeRules } from '../observe/brakes.js';
import type { FreshnessObserver } from '../observe/freshness-observer.js';
import { HoldReconciler, holdKeysOf, holdKinds } from './collect/hold-reconciler.js';
import { OrphanReconciler, orphanKeysOf } from './collect/orphan-reconciler.js';
import { RevisionReconciler, revisionKeysOf } from './collect/revision-reconciler.js';
import { Detector } from './detect/detector.js';
import { drainKeysOf, drainKinds, type DrainParts, DrainReconciler } from './drain/drain-reconciler.js';
import { endpointsKeysOf, endpointsKinds } from './endpoints/endpoints-keys.js';
import { EndpointsReconciler } from './endpoints/endpoints-reconciler.js';
import { GrantReconciler, tenantKeysOf, tenantKinds } from './grant/grant-reconciler.js';
import { hasUpkeep, NodeUpkeep } from './repair/node-upkeep.js';
import type { RepairRates } from './repair/repair-budget.js';
import { tellBrakes } from './repair/tell-brakes.js';
import {
  allRepairKeys,
  nodeItMayRunOn,
  type NodesSeen,
  onlyStarts,
  repairKeysOf,
  repairKinds,
} from './repair/repair-keys.js';
import { RepairReconciler } from './repair/repair-reconciler.js';
import { settleFence } from './repair/settle-fence.js';
import { type Acting, keyOfObject, noKeys } from './runtime/acting.js';
import { Controller, type ControllerCounters, type ControllerParts } from './runtime/controller.js';
import { Leadership } from './runtime/leadership.js';
import type { Reconciler, ReportProblem } from './runtime/requeue.js';
import { SlotIndex } from './workload/slot-index.js';
import { workloadKeyOf, workloadKeysOf, workloadKinds } from './workload/workload-keys.js';
import { WorkloadReconciler } from './workload/workload-reconciler.js';

const listenersMax = 100;

// What becomes of a node concerns all replicas there, and five hundred nodes may be lost at once: all of them are called
// Unknown before the first of them may be given away, five seconds later. The authority takes together what comes
// together.
const ofManyReplicas = { workers: 64, queue: { rate: { perSecond: 5_000, burst: 1_000 } } } as const;

export interface ControllersParts {
  readonly objects: Objects;
  /** What wakes controllers; the objects themselves unless the simulator stands in, which forgets some. */
  readonly wakeUps?: Pick<Objects, 'follow'>;
  readonly authority: Authority;
  readonly env: Env;
  readonly report: ReportProblem;
  /** How fresh nodes are, and the fence of the cell. Without them nobody judges nodes here: the simulator lets another. */
  readonly nodes?: {
    readonly freshness: FreshnessObserver;
    readonly fence: () => FenceRecord;
    readonly brakeRules?: BrakeRules;
    readonly repairRates?: RepairRates;
  };
  /** Names this process and no other. */
  readonly holder: string;
  readonly address?: string;
  readonly leaseSeconds?: number;
  readonly resyncMs?: number;
  /** See `DrainParts`. */
  readonly spareOf?: DrainParts['spareOf'];
  /** No other process can reach the store. */
  readonly isAlone?: boolean;
}

type LeadingActor =
  | 'workload-controller'
  | 'endpoints-controller'
  | 'drain'
  | 'grant-controller'
  | 'collector'
  | 'detector'
  | 'repair-controller';

/**
 * All controllers of a server. Each kind of actor has a lease of its own, so that servers share the work between
 * them; whoever loses one goes on with the others.
 */
export class Controllers {
  readonly #controllers: Record<
    | 'workload'
    | 'orphans'
    | 'grant'
    | 'holds'
    | 'revisions'
    | 'endpoints'
    | 'drain'
    | 'repair'
    | 'nodeUpkeep',
    Controller
  >;
  // One for all terms: replicas are many.
  readonly #slots: SlotIndex;
  /** Replicas by the node they may run on; for as long as the process. */
  readonly #byNode: ObjectIndex<Replica>;
  // Of the term that it leads, if it does.
  #repair: RepairReconciler | undefined;

  constructor(private readonly parts: ControllersParts) {
    const { objects } = parts;
    this.#slots = new SlotIndex(objects);
    const byNode = new ObjectIndex<Replica>(objects, 'Replica', nodeItMayRunOn);
    this.#byNode = byNode;
    const nodesSeen: NodesSeen = {
      isHeard: (node) => this.#isHeard(node),
      journalSince: (node) => objects.get<Node>('Node', undefined, node)?.status?.journalSince,
    };
    const keysOfAll = (kind: string) => () => keysOf(objects.list(kind));
    const workloads = {
      kinds: workloadKinds,
      keysOf: (change: Parameters<ControllerParts['keysOf']>[0]) => workloadKeysOf(objects, change),
      listKeys: keysOfAll('Workload'),
    };
    this.#controllers = {
      workload: this.#controller('workload', workloads),
      orphans: this.#controller('orphans', {
        kinds: workloadKinds,
        keysOf: (change) => orphanKeysOf(objects, change),
        // Also those whose workload is gone. Of the index: to put very many replicas together would take long.
        listKeys: () => this.#slots.workloadKeys,
      }),
      revisions: this.#controller('revisions', {
        kinds: workloadKinds,
        keysOf: (change) => revisionKeysOf(objects, change),
        listKeys: () => new Set([...objects.list<WorkloadRevision>('WorkloadRevision')].map(workloadKeyOf)),
      }),
      grant: this.#controller('grant', {
        kinds: tenantKinds,
        keysOf: tenantKeysOf,
        listKeys: keysOfAll('Tenant'),
      }),
      endpoints: this.#controller('endpoints', {
        kinds: endpointsKinds,
        keysOf: (change) => endpointsKeysOf(byNode, change),
        listKeys: keysOfAll('Workload'),
      }),
      drain: this.#controller('drain', {
        kinds: drainKinds,
        keysOf: (change) => drainKeysOf(objects, change),
        listKeys: keysOfAll('Node'),
      }),
      holds: this.#controller('holds', {
        kinds: holdKinds,
        keysOf: (change) => holdKeysOf(objects, change),
        listKeys: keysOfAll('Reservation'),
      }),
      repair: this.#controller('repair', {
        kinds: repairKinds,
        keysOf: (change) => {
          if (this.#repair === undefined || !onlyStarts(nodesSeen, change))
            return repairKeysOf(byNode, nodesSeen, change);
          this.#repair.await(change.object as Replica);
          return noKeys;
        },
        listKeys: () => allRepairKeys(byNode, nodesSeen),
        ...ofManyReplicas,
      }),
      nodeUpkeep: this.#controller('node-upkeep', {
        kinds: new Set(['Node']),
        keysOf: ({ object }) => (hasUpkeep(object as Node) ? [object.metadata.name] : noKeys),
        listKeys: () => keysOf([...objects.list<Node>('Node')].filter(hasUpkeep)),
      }),
    };
  }

  get counters(): Readonly<Record<string, ControllerCounters>> {
    return Object.fromEntries(
      Object.entries(this.#controllers).map(([name, controller]) => [name, controller.counters]),
    );
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    // Every lease listens to it, with all that waits under each.
    setMaxListeners(listenersMax, signal);
    this.#byNode.start(signal);
    await Promise.all([
      this.#lead('workload-controller', signal, (acting, term) => {
        const { slots, revisions } = this.#indexes(term);
        return [
          this.#controllers.workload.run(new WorkloadReconciler({ acting, slots, revisions }), term.signal),
          this.#controllers.orphans.run(new OrphanReconciler({ acting, slots }), term.signal),
        ];
      }),
      this.#lead('endpoints-controller', signal, (acting, term) => {
        this.#slots.start(term.signal);
        const { nodes } = this.parts;
        const observer = nodes && this.#brakeObserver(nodes);
        const reconciler = new EndpointsReconciler({
          ...{ acting, slots: this.#slots },
          ...(observer !== undefined && { brakes: observer }),
        });
        return [this.#controllers.endpoints.run(reconciler, term.signal)];
      }),
      this.#lead('drain', signal, (acting, term) => {
        this.#slots.start(term.signal);
        const { spareOf } = this.parts;
        const reconciler = new DrainReconciler({
          ...{ acting, onNode: this.#byNode, slots: this.#slots },
          ...(spareOf !== undefined && { spareOf }),
        });
        return [this.#controllers.drain.run(reconciler, term.signal)];
      }),
      this.#lead('grant-controller', signal, (acting, term) => [
        this.#controllers.grant.run(new GrantReconciler(acting), term.signal),
      ]),
      this.#lead('collector', signal, (acting, term) => {
        const { slots, revisions } = this.#indexes(term);
        const reconciler: Reconciler = new RevisionReconciler({ acting, slots, revisions });
        return [
          this.#controllers.holds.run(new HoldReconciler(acting, this.#byNode), term.signal),
          this.#controllers.revisions.run(reconciler, term.signal),
        ];
      }),
      this.#watchNodes(signal),
    ]);
  }

  async #watchNodes(signal: AbortSignal): Promise<void> {
    const { nodes } = this.parts;
    if (nodes === undefined) return;
    const { freshness, fence, repairRates } = nodes;
    const brakes = this.#brakeObserver(nodes);
    const detector = new Detector(freshness);
    const { repair, nodeUpkeep } = this.#controllers;
    await Promise.all([
      this.#lead('detector', signal, (acting, term) => [detector.run(acting, term.signal)]),
      this.#lead('repair-controller', signal, (acting, term) => {
        const rates = repairRates === undefined ? {} : { rates: repairRates };
        const wake = (key: string): void => repair.wake(key);
        const reconciler = new RepairReconciler({ ...{ acting, freshness, fence, brakes, wake }, ...rates });
        this.#repair = reconciler;
        const end = (): void => {
          if (this.#repair === reconciler) this.#repair = undefined;
        };
        term.signal.addEventListener('abort', end, { once: true });
        return [
          repair.run(reconciler, term.signal),
          reconciler.watchDeadlines(term.signal),
          nodeUpkeep.run(new NodeUpkeep(acting), term.signal),
          settleFence(acting, fence, term.signal),
          tellBrakes(acting, brakes, term.signal),
        ];
      }),
    ]);
  }

  /** By the last durable verdict, and as this process hears it. */
  #isHeard(node: string): boolean {
    const { objects, nodes } = this.parts;
    const { reachability } = objects.get<Node>('Node', undefined, node)?.status ?? {};
    return reachability === 'Fresh' && nodes?.freshness.look(node)?.verdict === 'Fresh';
  }

  #brakeObserver({ freshness, brakeRules }: NonNullable<ControllersParts['nodes']>): BrakeObserver {
    const { objects, env } = this.parts;
    return new BrakeObserver({
      ...{ objects, freshness, env },
      ...(brakeRules !== undefined && { rules: brakeRules }),
    });
  }

  #controller(
    name: string,
    keys: Pick<ControllerParts, 'kinds' | 'keysOf' | 'listKeys' | 'workers' | 'queue'>,
  ): Controller {
    const { objects, wakeUps = objects, env, report, resyncMs } = this.parts;
    return new Controller({
      name,
      objects: wakeUps,
      env,
      report,
      ...(resyncMs !== undefined && { resyncMs }),
      ...keys,
    });
  }

  #indexes(term: LeadingTerm): { slots: SlotIndex; revisions: ObjectIndex<WorkloadRevision> } {
    const { objects } = this.parts;
    const revisions = new ObjectIndex<WorkloadRevision>(objects, 'WorkloadRevision', workloadKeyOf);
    // Before the controllers that read them: what wakes a key is in the index when it is looked at.
    this.#slots.start(term.signal);
    revisions.start(term.signal);
    return { slots: this.#slots, revisions };
  }

  #lead(
    kind: LeadingActor,
    signal: AbortSignal,
    start: (acting: Acting, term: LeadingTerm) => readonly Promise<void>[],
  ): Promise<void> {
    const { objects, authority, env, report, holder, address, leaseSeconds, isAlone } = this.parts;
    const leadership = new Leadership({
      ...{ authority, objects, env, lease: kind, holder },
      ...(address !== undefined && { address }),
      ...(leaseSeconds !== undefined && { durationSeconds: leaseSeconds }),
      ...(isAlone !== undefined && { isAlone }),
    });
    return leadership.run(async (term) => {
      setMaxListeners(listenersMax, term.signal);
      const actor: Actor = { kind, name: holder, lease: { name: kind, epoch: term.epoch } };
      // Whoever leads next counts every deadline anew: what then comes late is late for this reason.
      const onOver = (): void => {
        if (signal.aborted) return;
        const { reason } = term.signal as { readonly reason: unknown };
        const why = reason instanceof Error ? reason.message : String(reason);
        report({ controller: kind, key: '', message: `leads no longer: ${why}` });
      };
      term.signal.addEventListener('abort', onOver, { once: true });
      const giveUp = (why: string): void => term.giveUp(why);
      await Promise.all(start({ objects, authority, env, report, actor, giveUp }, term));
    }, signal);
  }
}

function* keysOf(objects: Iterable<BerthObject>): Generator<string> {
  for (const { metadata } of objects) yield keyOfObject(metadata.namespace, metadata.name);
}
