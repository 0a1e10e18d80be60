import { createHash } from 'node:crypto';
import type { Workload } from '../../model/kinds/workload.js';
import type { WorkloadRevisionSpec } from '../../model/kinds/workload-revision.js';

const hashDigits = 10;

export interface NamedRevision {
  readonly name: string;
  readonly spec: Omit<WorkloadRevisionSpec, 'revision'>;
}

// By the spec, which is another object when it is changed: a workload is looked at again whenever a replica of it moves.
const known = new WeakMap<Workload['spec'], NamedRevision>();

/** The revision that a workload's replicas are made of now. The same template always has the same name. */
export function revisionOf(workload: Pick<Workload, 'metadata' | 'spec'>): NamedRevision {
  const found = known.get(workload.spec);
  if (found?.spec.workload === workload.metadata.name) return found;
  const made = newRevisionOf(workload);
  known.set(workload.spec, made);
  return made;
}

function newRevisionOf({ metadata, spec }: Pick<Workload, 'metadata' | 'spec'>): NamedRevision {
  const { template, placement, priorityClassName } = spec;
  const common = {
    template,
    ...(placement !== undefined && { placement }),
    ...(priorityClassName !== undefined && { priorityClassName }),
  };
  const hash = createHash('sha256').update(canonical(common)).digest('hex').slice(0, hashDigits);
  return { name: `${metadata.name}-${hash}`, spec: { workload: metadata.name, ...common } };
}

/** JSON that does not depend on the order in which fields were written. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_name, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
