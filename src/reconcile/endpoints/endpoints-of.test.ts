import { describe, expect, it } from 'vitest';
import type { Node } from '../../model/kinds/node.js';
import { nodeOf, replicaOf } from '../workload/workload.fixture.js';
import { endpointsOf } from './endpoints-of.js';
import type { TrafficStep } from './next-traffic-step.js';

const binding = (node: string, fence: string) => ({
  ...{ node, nodeEpoch: { cell: 1, number: 1 }, fence },
  receipt: { snapshotRevision: '1', policyRevision: 'p', operation: 'o' },
});
const list: TrafficStep = { kind: 'List' };

describe('endpointsOf', () => {
  it('names who is listed, in order, with ports, place and fence', () => {
    const node = nodeOf('n1', { region: 'eu', zone: 'b' });
    const charge = { tenant: 't', node: 'n1', amounts: {}, class: 'Guaranteed', ports: { http: 8_080 } };
    const at = (slot: number, more: object) =>
      replicaOf(slot, 'Serving', { binding: binding('n1', `${slot}7`), ...more });
    const members = [
      { replica: at(2, { address: '10.0.0.2' }), node, step: list },
      { replica: at(1, { address: '10.0.0.1', charge }), node, step: list },
      { replica: at(0, {}), node, step: { kind: 'Out' } as const },
      { replica: replicaOf(3, 'Ready'), node, step: { kind: 'Enter' } as const },
    ];
    expect(endpointsOf(members)).toEqual({
      source: 'Current',
      addresses: [
        {
          ...{ replica: 'web-1-1', node: 'n1', address: '10.0.0.1', region: 'eu', zone: 'b' },
          ...{ ports: { http: 8_080 }, fence: '17' },
        },
        { replica: 'web-2-1', node: 'n1', address: '10.0.0.2', region: 'eu', zone: 'b', fence: '27' },
      ],
    });
  });

  it("takes the machine's address where a replica has none, and its name where that is not known", () => {
    const replica = replicaOf(0, 'Serving', { binding: binding('n1', '1') });
    const known = { ...nodeOf('n1'), status: { agent: { address: '192.0.2.7' } } } as Node;
    const addressWith = (node: Node | undefined) =>
      endpointsOf([{ replica, node, step: list }]).addresses[0]?.address;
    expect([addressWith(known), addressWith(nodeOf('n1')), addressWith(undefined)]).toEqual([
      ...['192.0.2.7', 'n1', 'n1'],
    ]);
  });

  it('says that members are kept as last known', () => {
    const replica = replicaOf(0, 'Unknown', { binding: binding('n1', '1') });
    const kept = { replica, node: nodeOf('n1'), step: { kind: 'Keep', why: 'many' } } as const;
    expect(endpointsOf([kept])).toMatchObject({ source: 'LastKnown', addresses: [{ replica: 'web-0-1' }] });
  });
});
