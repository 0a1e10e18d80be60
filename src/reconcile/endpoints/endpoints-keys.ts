import type { Endpoints } from '../../model/kinds/endpoints.js';
import type { Node } from '../../model/kinds/node.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { ObjectIndex } from '../../model/object-index.js';
import type { ObjectChange } from '../../model/ports.js';
import { keyOfObject, noKeys } from '../runtime/acting.js';
import { workloadKeyOf } from '../workload/workload-keys.js';

export const endpointsKinds: ReadonlySet<string> = new Set(['Workload', 'Replica', 'Endpoints', 'Node']);

/** The services whose endpoints a change may concern. */
export function endpointsKeysOf(onNode: ObjectIndex<Replica>, change: ObjectChange): readonly string[] {
  const { kind, type } = change;
  switch (kind) {
    case 'Workload':
      return type === 'ADDED'
        ? [keyOfObject(change.object.metadata.namespace, change.object.metadata.name)]
        : noKeys;
    case 'Replica': {
      const [after, before] = [change.object as Replica, change.before as Replica | undefined];
      const isNews = type === 'DELETED' || trafficMark(after) !== trafficMark(before);
      return isNews ? [workloadKeyOf(after)] : noKeys;
    }
    case 'Endpoints': {
      // Somebody else wrote or deleted them: a workload has those that are its own.
      const { metadata } = change.object as Endpoints;
      return type === 'DELETED' ? [keyOfObject(metadata.namespace, metadata.name)] : noKeys;
    }
    case 'Node': {
      const [after, before] = [change.object as Node, change.before as Node | undefined];
      if (type === 'MODIFIED' && nodeMark(after) === nodeMark(before)) return noKeys;
      const keys = new Set<string>();
      for (const replica of onNode.of(after.metadata.name)) keys.add(workloadKeyOf(replica));
      return [...keys];
    }
    default:
      return noKeys;
  }
}

/**
 * What of a replica its endpoints are made from. One that has not come so far that clients could be sent to it says
 * nothing: a hundred thousand that are placed and started wake nobody.
 */
const trafficMark = (replica: Replica | undefined): string => {
  const { stage, readiness, isListed, address, intent, transitions } = replica?.status ?? {};
  if (stage !== 'Ready' && stage !== 'Serving' && stage !== 'Unknown' && isListed !== true) return '';
  return [
    stage,
    readiness?.isPassing,
    isListed,
    address,
    intent?.operation,
    transitions?.at(-1)?.operation,
  ].join(' ');
};

const nodeMark = (node: Node | undefined): string =>
  [node?.status?.reachability, node?.status?.agent?.address, node?.spec.region, node?.spec.zone].join(' ');
