import { FieldSet } from './field-set.js';
import {
  actedNow,
  isSameManager,
  readManagers,
  withFields,
  writeManagers,
  type Manager,
} from './managers.js';
import { mergeApplied } from './merge.js';
import { assemble, ownedPart, statedPart, withMetadataSchema, type DraftObject } from './owned-part.js';
import { formatPath } from './path-element.js';
import { assertNesting } from './shape.js';
import { compareValues, fieldsOf, removeFields } from './typed.js';

export interface ApplyRequest {
  readonly live: DraftObject | undefined;
  readonly applied: DraftObject;
  readonly manager: string;
  readonly force: boolean;
  readonly apiVersion: string;
  readonly subresource?: string | undefined;
  /** For people: the time on the entry of this manager, if the operation changes anything. */
  readonly now: string;
  /** JSON schema of the kind's fields (spec, status, …). That of metadata is known here. */
  readonly schema: unknown;
}

/** A field that another manager owns with another value than the one applied. */
export interface FieldConflict {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly subresource?: string;
  /** As people write it: .spec.taints[key="gpu"].effect */
  readonly path: string;
}

export type ApplyOutcome =
  | { readonly kind: 'Applied'; readonly object: DraftObject }
  | { readonly kind: 'Conflict'; readonly conflicts: readonly FieldConflict[] };

function conflictsWith({ entry, fields }: Manager, overwritten: FieldSet): FieldConflict[] {
  const { manager, operation, subresource } = entry;
  return fields
    .within(overwritten)
    .leaves()
    .map((path) => ({
      manager,
      operation,
      ...(subresource === undefined ? {} : { subresource }),
      path: formatPath(path),
    }));
}

/**
 * Server-side apply. A configuration comes in, the whole of what one manager wants; out goes the object it makes of
 * the live one, or the fields that others manage with other values. What the manager applied before and leaves out
 * now is removed, unless somebody else manages it too.
 */
export function applyConfiguration(request: ApplyRequest): ApplyOutcome {
  const { live, applied, manager, force, apiVersion, subresource, now } = request;
  const schema = withMetadataSchema(request.schema);
  const identity = { manager, operation: 'Apply', apiVersion, subresource } as const;

  const managers = readManagers(live?.metadata.managedFields) ?? [];
  const before = managers.find(({ entry }) => isSameManager(entry, identity));
  const stated = statedPart(applied, subresource);
  assertNesting(stated);
  const fields = fieldsOf(stated, schema);

  const livePart = ownedPart(live);
  const merged = mergeApplied(livePart, stated, schema);
  const changes = compareValues(livePart, merged, schema);
  const overwritten = changes.modified.union(changes.removed);
  const others = managers.filter((other) => other !== before);
  if (!force) {
    const conflicts = others.flatMap((other) => conflictsWith(other, overwritten));
    if (conflicts.length > 0) return { kind: 'Conflict', conflicts };
  }

  // A field that was not there had no value to disagree with: who still claims it lost it unnoticed.
  const taken = overwritten.union(changes.added);
  const remaining = others.map((other) => withFields(other, other.fields.outside(taken)));
  const kept = remaining.reduce((all, other) => all.union(other.fields), fields);
  const givenUp = (before?.fields ?? FieldSet.empty).difference(kept);
  const part = givenUp.isEmpty() ? merged : removeFields(merged, givenUp, kept, schema);

  // With the same fields as before nothing is given up, so what was taken is all that changed.
  const isUnchanged =
    before?.entry.apiVersion === apiVersion && before.fields.equals(fields) && taken.isEmpty();
  const self = isUnchanged ? before : actedNow(identity, fields, now);
  return { kind: 'Applied', object: assemble(part, live, applied, writeManagers([...remaining, self])) };
}
