import type { Decision } from '../../model/kinds/decision.js';
import type { Node } from '../../model/kinds/node.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { BerthObject } from '../../model/object.js';
import type { TraceEntry } from '../../model/trace.js';
import { digestOf } from './digest-decision.js';

export interface TraceFacts {
  readonly replicas: readonly Replica[];
  /** Those that the replicas are or were bound to, or the one that is asked about. */
  readonly nodes: readonly Node[];
  readonly decisions: readonly Decision[];
  readonly events: readonly BerthObject[];
}

/** So many entries are told, the latest ones. */
export const entriesMax = 500;

/** One timeline of what the records of a cell say: decisions, moves, verdicts on nodes, words of people, events. Pure. */
export function traceOf(facts: TraceFacts): {
  readonly entries: readonly TraceEntry[];
  readonly earlier: number;
} {
  const entries = [
    ...facts.decisions.map(decisionEntry),
    ...facts.replicas.flatMap(replicaEntries),
    ...facts.nodes.flatMap(nodeEntries),
    ...facts.events.flatMap(eventEntry),
  ].toSorted((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
  return { entries: entries.slice(-entriesMax), earlier: Math.max(0, entries.length - entriesMax) };
}

function decisionEntry(decision: Decision): TraceEntry {
  const { name, at, result, reason, answers, nodes, snapshotRevision, snapshotAgeMs } = digestOf(decision);
  const counted = Object.entries(answers).map(([answer, count]) => `${count} ${answer}`);
  return {
    ...{ at: whole(at), about: `Decision ${name}`, what: result, actor: 'scheduler', reason: reason ?? '' },
    evidence: {
      snapshot: `${snapshotRevision}, ${Math.round(snapshotAgeMs)} ms old`,
      ...(counted.length > 0 && { answers: counted.join(', ') }),
      ...(nodes.length > 0 && { nodes: nodes.join(', ') }),
    },
  };
}

function replicaEntries({ metadata, status }: Replica): readonly TraceEntry[] {
  const transitions = status?.transitions ?? [];
  return transitions.map(({ from, to, actor, reason, evidence = {}, at }, index): TraceEntry => {
    const before = transitions[index - 1];
    const node = to === 'Bound' && status?.binding !== undefined ? { node: status.binding.node } : {};
    return {
      ...{ at, about: `Replica ${metadata.name}`, actor, reason },
      what: from === undefined ? to : `${from} → ${to}`,
      evidence: { ...node, ...evidence },
      ...(before !== undefined && { afterMs: Math.max(0, Date.parse(at) - Date.parse(before.at)) }),
    };
  });
}

/** What is believed of a node now, and since when: of earlier verdicts only events and moves tell. */
function nodeEntries({ metadata, spec, status }: Node): readonly TraceEntry[] {
  const about = `Node ${metadata.name}`;
  const { reachability = 'Fresh', evidence, attestation, drain } = status ?? {};
  return [
    ...(evidence === undefined
      ? []
      : [
          {
            ...{ at: evidence.since, about, what: reachability, actor: 'detector', reason: evidence.why },
            evidence:
              evidence.arrivals === undefined
                ? {}
                : { arrivals: `${evidence.arrivals.join(', ')} s before that` },
          },
        ]),
    ...(attestation === undefined
      ? []
      : [
          {
            ...{ at: attestation.at, about, what: 'Attested stopped', actor: attestation.by },
            ...{ reason: attestation.reason, evidence: { for: `${attestation.forSeconds} s` } },
          },
        ]),
    ...(drain === undefined
      ? []
      : [
          {
            ...{ at: drain.startedAt, about, what: 'Drain begins', actor: 'operator' },
            ...{ reason: spec.drain?.reason ?? '', evidence: {} },
          },
          ...(drain.completedAt === undefined
            ? []
            : [
                {
                  ...{ at: drain.completedAt, about, what: 'Drain complete', actor: 'drain', reason: '' },
                  evidence: { released: String(drain.released ?? 0) },
                },
              ]),
        ]),
  ];
}

interface EventFields {
  readonly reason?: string;
  readonly message?: string;
  readonly lastTimestamp?: string;
  readonly eventTime?: string;
  readonly reportingComponent?: string;
  readonly source?: { readonly component?: string };
  readonly involvedObject?: { readonly kind?: string; readonly name?: string };
}

function eventEntry(object: BerthObject): readonly TraceEntry[] {
  // A parsed boundary: events have their fields beside the metadata.
  const event = object as BerthObject & EventFields;
  const at = event.eventTime ?? event.lastTimestamp ?? object.metadata.creationTimestamp;
  if (at === undefined) return [];
  const { involvedObject = {}, reason = '', message = '' } = event;
  return [
    {
      ...{ at: whole(at), about: `${involvedObject.kind ?? ''} ${involvedObject.name ?? ''}`, what: 'Event' },
      actor: event.reportingComponent ?? event.source?.component ?? '',
      ...{ reason, evidence: message === '' ? {} : { message } },
    },
  ];
}

/** To the second, as everything else: entries of one form can be put in order as text. */
const whole = (at: string): string => at.replace(/\.\d+Z$/, 'Z');
