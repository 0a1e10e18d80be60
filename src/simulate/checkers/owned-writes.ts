import { isDeepStrictEqual } from 'node:util';
import type { Replica, ReplicaTransition } from '../../model/kinds/replica.js';
import { isEdge, isTerminal, ownsEdge, type Stage, type StageActor } from '../../model/stages.js';
import { CellView, placeOf } from './cell-view.js';
import type { CellState, Commit, CommittedChange, SafetyChecker, Violation } from './checker.js';
import { actorOf, appendedTransitions, type ReplicaChange, replicaChanges } from './transitions.js';

/** Which processes write a part of a kind: those whose names start with one of these. */
export interface WriterRule {
  readonly kind: string;
  readonly part: 'spec' | 'status';
  readonly by: readonly string[];
  /** Who may write it first, besides. */
  readonly createdBy?: readonly string[];
}

export const defaultWriters: readonly WriterRule[] = [
  { kind: 'Workload', part: 'spec', by: ['user'] },
  { kind: 'Workload', part: 'status', by: ['controller', 'server'] },
  { kind: 'WorkloadRevision', part: 'spec', by: ['controller', 'server'] },
  { kind: 'Tenant', part: 'spec', by: ['user', 'operator'], createdBy: ['server'] },
  { kind: 'Region', part: 'spec', by: ['user', 'operator'], createdBy: ['server'] },
  { kind: 'PriorityClass', part: 'spec', by: ['user', 'operator'], createdBy: ['server'] },
];

/**
 * [S6] Every stage change is an edge of the graph made by its owner, and leaves its transition; a replica's spec
 * never changes and it is deleted only after it ended; every other spec and status is written by its owner.
 */
export class OwnedWrites implements SafetyChecker {
  readonly rule = 'S6';
  checked = 0;

  constructor(private readonly writers: readonly WriterRule[] = defaultWriters) {}

  onCommit(commit: Commit, state: CellState): readonly Violation[] {
    const moves = replicaChanges(commit).flatMap((change) => {
      this.checked += 1;
      return change.after === undefined ? deletedEarly(change) : wrongMoves(change);
    });
    const writes = commit.changes.flatMap((change) => [
      ...changedReplica(change),
      ...this.#foreign(commit.by, change),
    ]);
    return [...moves, ...writes].map((message) => this.#violation(state, message));
  }

  whole(state: CellState): readonly Violation[] {
    const messages: string[] = [];
    for (const { metadata, status } of new CellView(state).objects('Replica')) {
      const at = `/s/Replica/${metadata.namespace}/${metadata.name}`;
      const transitions = status?.transitions ?? [];
      const [first] = transitions;
      const { end, wrong } = follow(at, first?.from ?? 'none', transitions, status?.binding?.node);
      messages.push(...wrong);
      if (end !== status?.stage) messages.push(`${at} is ${status?.stage}; its transitions end at ${end}`);
    }
    return messages.map((message) => this.#violation(state, message));
  }

  #violation(state: CellState, message: string): Violation {
    return { rule: this.rule, revision: state.revision, message };
  }

  #foreign(by: string, { key, before, after }: CommittedChange): readonly string[] {
    const place = placeOf(key);
    if (place === undefined || after === undefined) return [];
    const part = place.part === 'o' ? 'spec' : 'status';
    const rule = this.writers.find((one) => one.kind === place.kind && one.part === part);
    if (rule === undefined || isDeepStrictEqual(partOf(before, part), partOf(after, part))) return [];
    this.checked += 1;
    const allowed = before === undefined ? [...rule.by, ...(rule.createdBy ?? [])] : rule.by;
    return allowed.some((name) => by.startsWith(name))
      ? []
      : [`${by} wrote the ${part} in ${key}, which is for ${allowed.join(', ')} to write`];
  }
}

/** A part that is empty is as good as not there. */
function partOf(value: unknown, part: 'spec' | 'status'): unknown {
  return (value as Readonly<Record<string, unknown>> | undefined)?.[part] ?? {};
}

function deletedEarly({ key, before }: ReplicaChange): readonly string[] {
  return before === undefined || isTerminal(before.stage)
    ? []
    : [`${key} was deleted at stage ${before.stage}`];
}

function wrongMoves(change: ReplicaChange): readonly string[] {
  const { key, before, after } = change;
  const appended = appendedTransitions(change);
  if (appended === undefined) return [`${key}: its transitions were changed otherwise than by appending`];
  const { end, wrong } = follow(key, before?.stage ?? 'none', appended, after?.binding?.node);
  const operations = new Set(before?.transitions?.map(({ operation }) => operation));
  const repeated = appended.filter(({ operation }) => operations.has(operation));
  return [
    ...wrong,
    ...repeated.map(({ operation, to }) => `${key}: ${operation} moved it again, to ${to}`),
    ...(end === after?.stage ? [] : [`${key} is ${after?.stage}; its transitions lead to ${end}`]),
    ...(before !== undefined && isTerminal(before.stage) && before.stage !== after?.stage
      ? [`${key} left the terminal stage ${before.stage} for ${after?.stage}`]
      : []),
  ];
}

/** Where transitions lead from a stage, and what is wrong with them on the way. */
function follow(
  key: string,
  start: Stage | 'none',
  transitions: readonly ReplicaTransition[],
  node: string | undefined,
): { readonly end: Stage | 'none'; readonly wrong: readonly string[] } {
  const wrong: string[] = [];
  let at = start;
  for (const transition of transitions) {
    const { from = 'none', to, actor } = transition;
    const { kind, name } = actorOf(transition);
    if (from !== at) wrong.push(`${key}: a transition from ${from} to ${to} was made at ${at}`);
    if (!isEdge(from, to)) wrong.push(`${key}: there is no edge from ${from} to ${to} (${actor})`);
    else if (!ownsEdge(kind as StageActor, from, to))
      wrong.push(`${key}: the edge from ${from} to ${to} is not ${actor}'s`);
    if (kind === 'agent' && name !== node)
      wrong.push(`${key}: ${actor} moved it to ${to}; it is bound to ${node ?? 'no node'}`);
    at = to;
  }
  return { end: at, wrong };
}

function changedReplica({ key, before, after }: CommittedChange): readonly string[] {
  const place = placeOf(key);
  if (place?.part !== 'o' || place.kind !== 'Replica' || before === undefined || after === undefined)
    return [];
  const [was, is] = [before as Replica, after as Replica];
  return was.metadata.uid === is.metadata.uid && isDeepStrictEqual(was.spec, is.spec)
    ? []
    : [`${key}: a replica's spec and uid never change; they did`];
}
