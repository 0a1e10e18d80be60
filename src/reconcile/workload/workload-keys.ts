import { isDeepStrictEqual } from 'node:util';
import type { Gang } from '../../model/kinds/gang.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { Workload } from '../../model/kinds/workload.js';
import type { WorkloadRevision } from '../../model/kinds/workload-revision.js';
import { sameAgain } from '../../model/made-once.js';
import type { BerthObject } from '../../model/object.js';
import type { ObjectChange, Objects } from '../../model/ports.js';
import { keyOfObject, noKeys } from '../runtime/acting.js';

type Member = Replica | WorkloadRevision | Gang;

// Changes come by the workload, and each is told to several.
const keysOfMembers = sameAgain((tenant, workload) => keyOfObject(tenant, workload));

/** The key of the workload that a replica, revision or gang belongs to. */
export const workloadKeyOf = ({ metadata, spec }: Member): string =>
  keysOfMembers(metadata.namespace ?? '', spec.workload, '');

export const workloadKinds: ReadonlySet<string> = new Set([
  'Workload',
  'Replica',
  'WorkloadRevision',
  'Gang',
  'Node',
]);

/**
 * The workloads that a change concerns. Like all that say so of a change, no generator: a hundred thousand replicas
 * change several times, and each change is told to every controller.
 */
export function workloadKeysOf(objects: Objects, change: ObjectChange): readonly string[] {
  const { type, kind } = change;
  switch (kind) {
    case 'Workload': {
      const { object, before } = change;
      // Its status is what this controller writes: that wakes nobody.
      if (type === 'MODIFIED' && !isWishChanged(object, before)) return noKeys;
      return [keyOfObject(object.metadata.namespace, object.metadata.name)];
    }
    case 'Replica':
    case 'WorkloadRevision':
    case 'Gang':
      return [workloadKeyOf(change.object as Member)];
    case 'Node':
      if (type === 'MODIFIED' && !isOfInterestToDaemons(change.object, change.before)) return noKeys;
      return [...daemonKeys(objects)];
    default:
      return noKeys;
  }
}

function* daemonKeys(objects: Objects): Generator<string> {
  for (const { metadata, spec } of objects.list<Workload>('Workload'))
    if (spec.type === 'Daemon') yield keyOfObject(metadata.namespace, metadata.name);
}

function isWishChanged({ metadata }: BerthObject, before: BerthObject | undefined): boolean {
  return (
    before?.metadata.uid !== metadata.uid ||
    before.metadata.generation !== metadata.generation ||
    before.metadata.deletionTimestamp !== metadata.deletionTimestamp ||
    !isDeepStrictEqual(before.metadata.finalizers, metadata.finalizers)
  );
}

/** Nodes report all the time; where Daemons run depends only on what operators say of them. */
function isOfInterestToDaemons(node: BerthObject, before: BerthObject | undefined): boolean {
  return (
    before === undefined ||
    before.metadata.deletionTimestamp !== node.metadata.deletionTimestamp ||
    !isDeepStrictEqual(before.spec, node.spec) ||
    !isDeepStrictEqual(before.metadata.labels, node.metadata.labels)
  );
}
