import type { BerthObject } from '../model/object.js';

/** A tenant as the core/v1 Namespace that ordinary clients look for. It can be read, never written. */
export function namespaceOf(tenant: BerthObject): BerthObject {
  const { name, uid, resourceVersion, creationTimestamp, deletionTimestamp, generation, labels } =
    tenant.metadata;
  return {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: {
      name,
      uid,
      resourceVersion,
      generation,
      creationTimestamp,
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
      labels: { ...labels, 'kubernetes.io/metadata.name': name },
    },
    spec: {},
    status: { phase: deletionTimestamp === undefined ? 'Active' : 'Terminating' },
  };
}
