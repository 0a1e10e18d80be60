import { describe, expect, it } from 'vitest';
import { objectOf } from '../../model/fake-objects.fixture.js';
import type { Node } from '../../model/kinds/node.js';
import type { Replica } from '../../model/kinds/replica.js';
import { entriesMax, traceOf } from './trace-of.js';

const second = (number: number): string => `2026-01-01T00:00:${String(number).padStart(2, '0')}Z`;
const move = (to: string, at: number, actor: string, more: object = {}) => ({
  ...{ to, at: second(at), actor, reason: 'Because', revision: '1', operation: `${to}/${at}`, ...more },
});
const replica = objectOf('Replica', 'shop', 'api-0-1', {
  status: {
    ...{ stage: 'Unknown', binding: { node: 'n1' } },
    transitions: [
      move('Queued', 1, 'workload-controller:s'),
      move('Bound', 3, 'scheduler:s', { from: 'Queued', evidence: { snapshotRevision: '9' } }),
      move('Unknown', 40, 'repair-controller:s', { from: 'Bound' }),
    ],
  },
}) as Replica;
const node = objectOf('Node', undefined, 'n1', {
  spec: {},
  status: {
    reachability: 'Unknown',
    evidence: { since: second(39), why: 'its lease has expired', arrivals: [40, 45] },
    attestation: { by: 'olga', reason: 'looked', at: second(50), forSeconds: 60, operation: 'o' },
  },
}) as Node;

describe('traceOf', () => {
  it('tells moves, verdicts, words of people and events in order, with actors, evidence and durations', () => {
    const event = {
      ...objectOf('Event', 'shop', 'e', {}),
      ...{ eventTime: second(2), reason: 'Seen', message: 'x', reportingComponent: 'c' },
      involvedObject: { kind: 'Replica', name: 'api-0-1' },
    };
    const { entries } = traceOf({ replicas: [replica], nodes: [node], decisions: [], events: [event] });
    expect(
      entries.map(({ at, about, what, actor, afterMs }) => [at.slice(17, 19), about, what, actor, afterMs]),
    ).toEqual([
      ['01', 'Replica api-0-1', 'Queued', 'workload-controller:s', undefined],
      ['02', 'Replica api-0-1', 'Event', 'c', undefined],
      ['03', 'Replica api-0-1', 'Queued → Bound', 'scheduler:s', 2_000],
      ['39', 'Node n1', 'Unknown', 'detector', undefined],
      ['40', 'Replica api-0-1', 'Bound → Unknown', 'repair-controller:s', 37_000],
      ['50', 'Node n1', 'Attested stopped', 'olga', undefined],
    ]);
    expect(entries[2]?.evidence).toEqual({ node: 'n1', snapshotRevision: '9' });
    expect(entries[3]).toMatchObject({
      reason: 'its lease has expired',
      evidence: { arrivals: '40, 45 s before that' },
    });
  });

  it('is bounded: the latest are told, and how many came before', () => {
    const { entries, earlier } = traceOf({
      ...{ replicas: Array.from({ length: 200 }, () => replica), nodes: [], decisions: [], events: [] },
    });
    expect([entries.length, earlier]).toEqual([entriesMax, 100]);
  });
});
