import { apiVersionOf, type KindDefinition } from './kind.js';
import type { BerthObject } from './object.js';

/** An object of a kind as the server would hold it, with these fields. */
export function example(
  kind: KindDefinition,
  fields: Readonly<Record<string, unknown>>,
  name = 'example',
): BerthObject {
  return {
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    metadata: {
      name,
      ...(kind.scope === 'Tenant' && { namespace: 'default' }),
      uid: '5f0c1d7e-0000-4000-8000-000000000001',
      resourceVersion: '7',
      generation: 1,
      creationTimestamp: '2026-01-31T13:05:00Z',
    },
    ...fields,
  };
}
