import { BerthError } from '../model/errors.js';
import type { KindDefinition } from '../model/kind.js';
import type { BerthObject } from '../model/object.js';
import { valueAt } from './table.js';

/** The `scale` of an object, in the form of autoscaling/v1 that clients read and write. */
export function scaleOf(kind: KindDefinition, object: BerthObject): object {
  if (kind.scale === undefined) throw new BerthError('NotFound', `${kind.plural} have no scale`);
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const specReplicas = valueAt(object, kind.scale.specReplicas);
  const statusReplicas = valueAt(object, kind.scale.statusReplicas);
  const selector = kind.scale.selector === undefined ? undefined : valueAt(object, kind.scale.selector);
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: typeof specReplicas === 'number' ? { replicas: specReplicas } : {},
    status: {
      replicas: typeof statusReplicas === 'number' ? statusReplicas : 0,
      ...(typeof selector === 'string' ? { selector } : {}),
    },
  };
}

/** The object with the number of replicas that a Scale asks for. */
export function scaled(kind: KindDefinition, object: BerthObject, scale: unknown): BerthObject {
  if (kind.scale === undefined) throw new BerthError('NotFound', `${kind.plural} have no scale`);
  const replicas = valueAt(scale, '.spec.replicas') ?? 0;
  if (typeof replicas !== 'number' || !Number.isInteger(replicas) || replicas < 0) {
    throw new BerthError(
      'Invalid',
      `spec.replicas ${JSON.stringify(replicas)}: a whole number from 0 is needed`,
    );
  }
  const resourceVersion = valueAt(scale, '.metadata.resourceVersion');
  const [, field, name = ''] = kind.scale.specReplicas.split('.');
  if (field !== 'spec') throw new Error(`the replicas of ${kind.kind} are not in its spec`);
  return {
    ...object,
    metadata: {
      ...object.metadata,
      resourceVersion: typeof resourceVersion === 'string' ? resourceVersion : '',
    },
    spec: { ...object.spec, [name]: replicas },
  };
}
