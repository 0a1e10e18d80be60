import type { Replica } from './kinds/replica.js';
import type { ReplicaRef } from './ports.js';

/** Which replica is meant, so that a later one of the same name is not. */
export const refOf = ({ metadata }: Pick<Replica, 'metadata'>): ReplicaRef => ({
  tenant: metadata.namespace ?? '',
  name: metadata.name,
  uid: metadata.uid,
});
