import type { Env } from '../../env/env.js';
import { wallMs } from '../../env/instant.js';
import type { DecisionQuery, Decisions } from '../../model/decisions.js';
import { BerthError } from '../../model/errors.js';
import type {
  Explain,
  ExplainedKind,
  ExplainTarget,
  Explanation,
  NodeVerdicts,
  PlacementFacts,
} from '../../model/explanation.js';
import type { Attention } from '../../model/attention.js';
import type { Endpoints } from '../../model/kinds/endpoints.js';
import type { Gang } from '../../model/kinds/gang.js';
import type { Lease } from '../../model/kinds/lease.js';
import type { Region } from '../../model/kinds/region.js';
import type { Trace } from '../../model/trace.js';
import type { NodeLedger } from '../../model/kinds/node-ledger.js';
import type { Node } from '../../model/kinds/node.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { WorkloadRevision } from '../../model/kinds/workload-revision.js';
import type { Workload } from '../../model/kinds/workload.js';
import type { BerthObject } from '../../model/object.js';
import type { Objects } from '../../model/ports.js';
import type { Verdict } from '../contract.js';
import { attentionOf, type ServerFacts } from './attention-of.js';
import { digestOf } from './digest-decision.js';
import { explainGang } from './explain-gang.js';
import { explainNode } from './explain-node.js';
import { explainReplica, type ObjectSide } from './explain-replica.js';
import { explainWorkload } from './explain-workload.js';
import { traceOf } from './trace-of.js';

/** What the rules of the scheduler say of a replica, on the cell as it is now. */
export interface PlacementLook {
  factsOf(replica: Replica): Promise<PlacementFacts | undefined>;
  /** Of a gang that has not started: whether enough of its members find places together. */
  factsOfGang(gang: Gang, members: readonly Replica[]): Promise<PlacementFacts | undefined>;
  /** What every filter says of one node. Undefined if there is no such class any more. */
  verdictsOn(replica: Replica, node: string): Promise<readonly Verdict[] | undefined>;
}

export interface ExplainerParts {
  readonly objects: Pick<Objects, 'get' | 'list' | 'version'>;
  readonly decisions: () => Pick<Decisions, 'list'>;
  readonly placement: PlacementLook;
  readonly server: () => ServerFacts;
  readonly env: Pick<Env, 'clock'>;
}

const decisionsShown = 5;
const decisionsTraced = 100;
// Who has more to look at begins with these.
const attentionMax = 200;

/** Answers why: looks up what there is to know of a target and has the pure functions beside it say what it means. */
export class Explainer implements Explain {
  constructor(private readonly parts: ExplainerParts) {}

  async why(target: ExplainTarget, onlyTenant: string | undefined): Promise<Explanation> {
    const [side, decisions] = await Promise.all([
      this.#objectSide(target, onlyTenant),
      this.parts.decisions().list({ ...this.#about(target, onlyTenant), limit: decisionsShown }),
    ]);
    return {
      target,
      ...side,
      decisions: decisions.items.map(digestOf),
      unanswered: decisions.unanswered,
    };
  }

  async whyNot(target: ExplainTarget, node: string): Promise<NodeVerdicts> {
    if (this.parts.objects.get<Node>('Node', undefined, node) === undefined)
      throw new BerthError('NotFound', `there is no node ${JSON.stringify(node)}`);
    const replica = this.#replicaFor(target);
    const found = await this.parts.placement.verdictsOn(replica, node);
    if (found === undefined)
      throw new BerthError(
        'NotFound',
        `the revision ${replica.spec.revision} of ${replica.metadata.name} is gone`,
      );
    const verdicts = found.map(({ filter, passes, reason, message }) => ({
      filter,
      passes,
      ...(reason !== undefined && { reason }),
      ...(message !== undefined && { message }),
    }));
    const against = verdicts.filter(({ passes }) => !passes);
    const { name, namespace } = replica.metadata;
    return {
      target,
      node,
      replica: name,
      passes: against.length === 0,
      verdicts,
      answer:
        against.length === 0
          ? `node ${node} would take replica ${namespace}/${name} now`
          : `node ${node} does not take replica ${namespace}/${name}: ${[...new Set(against.map(({ filter, reason = filter }) => reason))].join(', ')}`,
    };
  }

  async trace(target: ExplainTarget, onlyTenant: string | undefined): Promise<Trace> {
    const { objects } = this.parts;
    const { kind, tenant, name } = target;
    this.#found(kind, tenant, name);
    const replicas = this.#replicas(kind === 'Node' ? onlyTenant : tenant, ({ metadata, spec, status }) => {
      if (kind === 'Replica') return metadata.name === name;
      if (kind === 'Node') return status?.binding?.node === name;
      return kind === 'Gang' ? spec.gang === name : spec.workload === name;
    });
    const nodes = new Set(
      kind === 'Node' ? [name] : replicas.flatMap(({ status }) => status?.binding?.node ?? []),
    );
    const about = new Set([name, ...replicas.map(({ metadata }) => metadata.name)]);
    const events: BerthObject[] = [];
    for (const event of objects.list<BerthObject>('Event', kind === 'Node' ? onlyTenant : tenant))
      if (about.has(involvedIn(event))) events.push(event);
    const decisions = await this.parts
      .decisions()
      .list({ ...this.#about(target, onlyTenant), limit: decisionsTraced });
    const told = traceOf({
      ...{ replicas, events, decisions: decisions.items },
      nodes: [...nodes].flatMap((node) => objects.get<Node>('Node', undefined, node) ?? []),
    });
    return { ...told, unanswered: decisions.unanswered };
  }

  attention(onlyTenant: string | undefined): Attention {
    const { objects } = this.parts;
    const ofCell = <T extends BerthObject>(kind: string): readonly T[] =>
      onlyTenant === undefined ? [...objects.list<T>(kind)] : [];
    const nodes = ofCell<Node>('Node');
    const workloads = [...objects.list<Workload>('Workload', onlyTenant)];
    // Once for all workloads, and only if one asks: when a zone is lost they all do, and replicas are many.
    let unknown: ReadonlyMap<string, readonly Replica[]> | undefined;
    const items = attentionOf({
      server: this.parts.server(),
      ...{ nodes, workloads, regions: ofCell<Region>('Region'), leases: ofCell<Lease>('Lease') },
      endpoints: objects.list<Endpoints>('Endpoints', onlyTenant),
      nowMs: wallMs(this.parts.env.clock.wall()),
      replicasOf: ({ metadata: { namespace, name } }) => {
        unknown ??= this.#unknownByWorkload(onlyTenant);
        return unknown.get(`${namespace}/${name}`) ?? [];
      },
    });
    return {
      items: items.slice(0, attentionMax),
      more: Math.max(0, items.length - attentionMax),
      looked: { nodes: nodes.length, workloads: workloads.length },
      revision: objects.version,
    };
  }

  // ---- what there is to know -----------------------------------------------------------------------------

  async #objectSide(
    { kind, tenant, name }: ExplainTarget,
    onlyTenant: string | undefined,
  ): Promise<ObjectSide> {
    const { objects } = this.parts;
    switch (kind) {
      case 'Replica':
        return this.#replicaSide(this.#found<Replica>(kind, tenant, name));
      case 'Workload': {
        const workload = this.#found<Workload>(kind, tenant, name);
        const replicas = this.#replicas(tenant, ({ spec }) => spec.workload === name);
        return explainWorkload({ workload, replicas, placement: await this.#placementOfFirst(replicas) });
      }
      case 'Gang': {
        const gang = this.#found<Gang>(kind, tenant, name);
        const members = this.#replicas(tenant, ({ spec }) => spec.gang === name);
        return explainGang({ gang, members, placement: await this.#placementOfFirst(members) });
      }
      case 'Node': {
        const node = this.#found<Node>(kind, undefined, name);
        const replicas = this.#replicas(onlyTenant, ({ status }) => status?.binding?.node === name);
        return explainNode({
          node,
          replicas,
          ledger: objects.get<NodeLedger>('NodeLedger', undefined, name),
        });
      }
    }
  }

  async #replicaSide(replica: Replica): Promise<ObjectSide> {
    const { objects } = this.parts;
    const { namespace } = replica.metadata;
    const { workload, revision, gang } = replica.spec;
    const node = replica.status?.binding?.node;
    return explainReplica({
      replica,
      workload: objects.get<Workload>('Workload', namespace, workload),
      revision: objects.get<WorkloadRevision>('WorkloadRevision', namespace, revision),
      node: node === undefined ? undefined : objects.get<Node>('Node', undefined, node),
      gang: gang === undefined ? undefined : objects.get<Gang>('Gang', namespace, gang),
      placement: await this.#placementOfFirst([replica]),
    });
  }

  async #placementOfFirst(replicas: readonly Replica[]): Promise<PlacementFacts | undefined> {
    const { objects, placement } = this.parts;
    const waiting = replicas.find(isWaiting);
    if (waiting === undefined) return undefined;
    const { namespace } = waiting.metadata;
    const name = waiting.spec.gang;
    const gang = name === undefined ? undefined : objects.get<Gang>('Gang', namespace, name);
    if (gang === undefined || gang.status?.state === 'Committed') return placement.factsOf(waiting);
    return placement.factsOfGang(
      gang,
      this.#replicas(namespace, ({ spec }) => spec.gang === name),
    );
  }

  /** The replica that stands for a target: one that waits, if there is one. */
  #replicaFor({ kind, tenant, name }: ExplainTarget): Replica {
    if (kind === 'Replica') return this.#found<Replica>(kind, tenant, name);
    if (kind === 'Node')
      throw new BerthError('BadRequest', 'of a node one can ask why; why-not is asked of what runs there');
    this.#found(kind, tenant, name);
    const replicas = this.#replicas(tenant, ({ spec }) =>
      kind === 'Gang' ? spec.gang === name : spec.workload === name,
    );
    const replica = replicas.find(isWaiting) ?? replicas.at(-1);
    if (replica !== undefined) return replica;
    throw new BerthError('NotFound', `${kind.toLowerCase()} ${tenant}/${name} has no replicas yet`);
  }

  #unknownByWorkload(tenant: string | undefined): ReadonlyMap<string, readonly Replica[]> {
    const found = new Map<string, Replica[]>();
    for (const replica of this.#replicas(tenant, ({ status }) => status?.stage === 'Unknown')) {
      const key = `${replica.metadata.namespace}/${replica.spec.workload}`;
      const known = found.get(key);
      if (known === undefined) found.set(key, [replica]);
      else known.push(replica);
    }
    return found;
  }

  #replicas(tenant: string | undefined, isMeant: (replica: Replica) => boolean): Replica[] {
    const found: Replica[] = [];
    for (const replica of this.parts.objects.list<Replica>('Replica', tenant))
      if (isMeant(replica)) found.push(replica);
    return found;
  }

  #found<T extends BerthObject>(kind: ExplainedKind, tenant: string | undefined, name: string): T {
    const object = this.parts.objects.get<T>(kind, tenant, name);
    if (object !== undefined) return object;
    const where = tenant === undefined ? name : `${tenant}/${name}`;
    throw new BerthError('NotFound', `there is no ${kind.toLowerCase()} ${where}`);
  }

  /** Which decisions speak of a target. */
  #about(
    { kind, tenant, name }: ExplainTarget,
    onlyTenant: string | undefined,
  ): Omit<DecisionQuery, 'limit'> {
    const { objects } = this.parts;
    if (kind === 'Node') return { node: name, ...(onlyTenant !== undefined && { tenant: onlyTenant }) };
    const inTenant = tenant === undefined ? {} : { tenant };
    if (kind === 'Workload') return { ...inTenant, workload: name };
    if (kind === 'Gang') {
      const workload = objects.get<Gang>('Gang', tenant, name)?.spec.workload;
      return { ...inTenant, workload: workload ?? name };
    }
    const replica = objects.get<Replica>('Replica', tenant, name);
    const workload = replica === undefined ? {} : { workload: replica.spec.workload };
    // While it waits, every decision on its class speaks of it; then those that had a choice to make for it.
    return {
      ...inTenant,
      ...workload,
      ...((replica === undefined || !isWaiting(replica)) && { replica: name }),
    };
  }
}

/** A parsed boundary: events have their fields beside the metadata. */
const involvedIn = (event: BerthObject): string =>
  (event as BerthObject & { readonly involvedObject?: { readonly name?: string } }).involvedObject?.name ??
  '';

const isWaiting = ({ status }: Replica): boolean => (status?.stage ?? 'Queued') === 'Queued';
