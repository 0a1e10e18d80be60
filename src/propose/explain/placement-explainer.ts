import type { Env } from '../../env/env.js';
import type { PlacementFacts } from '../../model/explanation.js';
import type { Gang } from '../../model/kinds/gang.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { Records } from '../../model/ports.js';
import { objectKey, tenantAccountKey, workloadAccountKey } from '../../model/records.js';
import { isTerminal, type Stage } from '../../model/stages.js';
import { CellState } from '../cell-state.js';
import type { NodeAgeMs, PendingReplica, Verdict } from '../contract.js';
import type { Plugin } from '../plugin.js';
import { verdictsOn } from '../verdicts.js';
import type { PlacementLook } from './explainer.js';
import { foreseenRoom, foreseenRoomForGang } from './foreseen-room.js';
import { gangFacts } from './gang-facts.js';
import { placementFacts } from './placement-facts.js';
import { Stretch } from './stretch.js';

export interface PlacementExplainerParts {
  readonly records: Pick<Records, 'read' | 'entries' | 'version'>;
  readonly env: Env;
  readonly ages: NodeAgeMs;
  readonly plugins?: readonly Plugin[];
}

// How many records are taken in before others get a turn: some milliseconds.
const recordsPerTurn = 1_000;

const ofEveryCell = ['/o/Node/', '/s/Node/', '/a/node/', '/e/', '/o/Region/', '/o/PriorityClass/'];

/**
 * Asks the rules of the scheduler about one replica, on a picture of the cell of its own: cures are tried on it. It
 * takes in nodes and what is of the replica's tenant, no replicas, so that it costs what the nodes cost.
 */
export class PlacementExplainer implements PlacementLook {
  constructor(private readonly parts: PlacementExplainerParts) {}

  async factsOf(replica: Replica): Promise<PlacementFacts | undefined> {
    const cell = await this.#pictureFor(replica);
    const onlyNode = this.#nodeOfSlot(replica);
    const facts = await placementFacts(cell, classKeyOf(replica), replica.metadata.name, {
      ...this.#options(),
      stretch: new Stretch(this.parts.env),
      ...(onlyNode !== undefined && { onlyNode }),
    });
    if (facts === undefined || facts.isPlaceable || facts.quota !== undefined) return facts;
    const room = await foreseenRoom(this.parts, cell, pendingOf(replica), this.#options());
    return room === undefined ? facts : { ...facts, room };
  }

  async factsOfGang(gang: Gang, members: readonly Replica[]): Promise<PlacementFacts | undefined> {
    const stageOf = ({ status }: Replica): Stage => status?.stage ?? 'Queued';
    const waiting = members.filter((member) => stageOf(member) === 'Queued');
    const [first] = waiting;
    if (first === undefined) return undefined;
    const there = members.filter((member) => hasPlace(stageOf(member))).length;
    const byUid = new Map(waiting.map((member) => [member.metadata.uid, member]));
    const question = {
      members: waiting.map(pendingOf),
      wanted: Math.max(0, Math.min(waiting.length, gang.spec.minAvailable - there)),
      nodeOfSlot: ({ uid }: PendingReplica) => {
        const member = byUid.get(uid);
        return member && this.#nodeOfSlot(member);
      },
    };
    const picture = await this.#pictureFor(first);
    const facts = await gangFacts(new Stretch(this.parts.env), picture, question, this.#options());
    if (facts === undefined || facts.isPlaceable || facts.quota !== undefined) return facts;
    const { members: pending, wanted } = question;
    const room = await foreseenRoomForGang(this.parts, picture, pending, wanted, this.#options());
    return room === undefined ? facts : { ...facts, room };
  }

  async verdictsOn(replica: Replica, node: string): Promise<readonly Verdict[] | undefined> {
    const cell = await this.#pictureFor(replica);
    const verdicts = verdictsOn(cell, classKeyOf(replica), node, this.#options());
    if (verdicts.length === 0) return undefined;
    const onlyNode = this.#nodeOfSlot(replica);
    if (onlyNode === undefined) return verdicts;
    const message = `the slot ${replica.spec.slot} is for that node alone`;
    return [
      ...verdicts,
      onlyNode === node
        ? { filter: 'slot', passes: true }
        : { filter: 'slot', passes: false, reason: 'NoNode', message },
    ];
  }

  #options(): { readonly ages: NodeAgeMs; readonly plugins: readonly Plugin[] } {
    return { ages: this.parts.ages, plugins: this.parts.plugins ?? [] };
  }

  /** The slots of a Daemon are nodes. */
  #nodeOfSlot({ metadata, spec }: Replica): string | undefined {
    const key = objectKey('Workload', metadata.namespace, spec.workload);
    const workload = this.parts.records.read(key) as
      | { readonly spec?: { readonly type?: string } }
      | undefined;
    return workload?.spec?.type === 'Daemon' ? spec.slot : undefined;
  }

  async #pictureFor({ metadata: { namespace = '' }, spec }: Replica): Promise<CellState> {
    const { records, env } = this.parts;
    const cell = new CellState();
    cell.version = records.version;
    let count = 0;
    // While others get a turn a record may change: each is taken as it is when its turn comes.
    for (const prefix of [...ofEveryCell, `/o/WorkloadRevision/${namespace}/`]) {
      const keys = [...records.entries(prefix)].map(([key]) => key);
      for (const key of keys) {
        cell.apply(key, records.read(key));
        count += 1;
        if (count % recordsPerTurn === 0) await env.yield();
      }
    }
    for (const key of [
      objectKey('Tenant', undefined, namespace),
      tenantAccountKey(namespace),
      objectKey('Workload', namespace, spec.workload),
      workloadAccountKey(namespace, spec.workload),
    ])
      cell.apply(key, records.read(key));
    return cell;
  }
}

/** It holds capacity or is bound. */
const hasPlace = (stage: Stage): boolean => stage !== 'Admitted' && stage !== 'Queued' && !isTerminal(stage);

/** As if it were in no gang. */
const pendingOf = (replica: Replica): PendingReplica => {
  const { metadata, spec } = replica;
  return {
    ...{ tenant: metadata.namespace ?? '', name: metadata.name, uid: metadata.uid },
    ...{ classKey: classKeyOf(replica), workload: spec.workload, slot: spec.slot, sinceMs: 0 },
  };
};

const classKeyOf = ({ metadata, spec }: Replica): string => `${metadata.namespace}/${spec.revision}`;
