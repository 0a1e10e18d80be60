import type { BerthObject } from '../../model/object.js';

/** An object as its user writes it. */
export const wish = (kind: string, namespace: string | undefined, name: string, spec: object): BerthObject =>
  ({
    apiVersion: 'berth.dev/v1',
    kind,
    metadata: { name, ...(namespace !== undefined && { namespace }) },
    spec,
  }) as unknown as BerthObject;
