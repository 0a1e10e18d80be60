import type { EndpointsStatus } from '../../model/kinds/endpoints.js';
import type { Node } from '../../model/kinds/node.js';
import type { Replica } from '../../model/kinds/replica.js';
import { isListedAt, type TrafficStep } from './next-traffic-step.js';

export interface TrafficMember {
  readonly replica: Replica;
  readonly node: Node | undefined;
  readonly step: TrafficStep;
}

export type ListedEndpoints = Required<Pick<EndpointsStatus, 'addresses' | 'source'>>;

/** So many addresses at most; those that are too many are left out, the last in the alphabet. */
export const addressesMax = 10_000;

/** Where the replicas are that clients are sent to, in the order of their names. */
export function endpointsOf(members: readonly TrafficMember[]): ListedEndpoints {
  const listed = members.filter(({ step, replica }) => isListedAt(step, replica));
  const addresses = listed
    .map(({ replica, node }) => addressOf(replica, node))
    .toSorted((a, b) => (a.replica < b.replica ? -1 : 1))
    .slice(0, addressesMax);
  return { addresses, source: listed.some(({ step }) => step.kind === 'Keep') ? 'LastKnown' : 'Current' };
}

function addressOf(
  { metadata, status }: Replica,
  node: Node | undefined,
): ListedEndpoints['addresses'][number] {
  const { binding, charge, address } = status ?? {};
  const name = binding?.node ?? '';
  const ports = status?.ports ?? charge?.ports;
  return {
    replica: metadata.name,
    node: name,
    // A replica that has no address of its own is at that of its machine, or where the machine's name leads.
    address: address ?? node?.status?.agent?.address ?? name,
    ...(node?.spec.region !== undefined && { region: node.spec.region }),
    ...(node?.spec.zone !== undefined && { zone: node.spec.zone }),
    ...(ports !== undefined && Object.keys(ports).length > 0 && { ports: { ...ports } }),
    ...(binding !== undefined && { fence: binding.fence }),
  };
}
