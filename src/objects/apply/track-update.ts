import { FieldSet } from './field-set.js';
import { fieldsOfNew } from './fields-of-new.js';
import {
  actedNow,
  entryOf,
  isSameManager,
  readManagers,
  withFields,
  writeManagers,
  type Manager,
} from './managers.js';
import { ownedPart, withManagedFields, withMetadataSchema, type DraftObject } from './owned-part.js';
import { isRecord } from './schema-facts.js';
import { assertNesting } from './shape.js';
import { compareValues } from './typed.js';

export interface UpdateRequest<T extends DraftObject> {
  readonly before: DraftObject | undefined;
  readonly after: T;
  readonly manager: string;
  readonly apiVersion: string;
  readonly subresource?: string | undefined;
  /** For people: the time on the entry of this manager, if it changed anything. */
  readonly now: string;
  /** JSON schema of the kind's fields (spec, status, …). That of metadata is known here. */
  readonly schema: unknown;
}

/** At most so many Update entries; past it the oldest are merged into one, whose name says that it is many. */
export const updateEntriesMax = 10;
const ancientChanges = 'ancient-changes';

/** What a client sends to have all managers forgotten: no entry, or one with nothing in it. */
const isReset = (managedFields: unknown): boolean =>
  Array.isArray(managedFields) &&
  managedFields.every((entry) => isRecord(entry) && Object.keys(entry).length === 0) &&
  managedFields.length <= 1;

function managersGiven(before: DraftObject, after: DraftObject): readonly Manager[] {
  const sent: unknown = after.metadata.managedFields;
  if (isReset(sent)) return [];
  return readManagers(sent) ?? readManagers(before.metadata.managedFields) ?? [];
}

/** Of entries that are equally old the later ones in the list are spared: the manager that acts now is last. */
function boundUpdates(managers: readonly Manager[]): readonly Manager[] {
  const updates = managers.filter(({ entry, fields }) => entry.operation === 'Update' && !fields.isEmpty());
  if (updates.length <= updateEntriesMax) return managers;
  const age = (manager: Manager): string =>
    manager.entry.manager === ancientChanges ? '' : (manager.entry.time ?? '');
  const byAge = updates.toSorted((a, b) => (age(a) < age(b) ? -1 : age(a) > age(b) ? 1 : 0));
  const ancient = byAge.slice(0, updates.length - updateEntriesMax + 1);
  const merged = ancient.reduce((all, { entry, fields }) => {
    const { subresource: _, ...rest } = entry;
    return withFields({ entry: { ...rest, manager: ancientChanges }, fields }, all.fields.union(fields));
  });
  return [...managers.filter((manager) => !ancient.includes(manager)), merged];
}

/**
 * What a create, update or patch does to managedFields: its manager gets what it added or changed, whoever managed
 * it before; what it removed, nobody manages any more. A client may hand in managedFields of its own making (kubectl
 * does, to take over what it applied on the client's side); a list that makes no sense counts as none. When it has
 * all managers forgotten, what it changes in the same request is its own from then on.
 */
export function trackUpdate<T extends DraftObject>(request: UpdateRequest<T>): T {
  const { before, after, manager, apiVersion, subresource, now } = request;
  const part = ownedPart(after);
  assertNesting(part);
  const schema = withMetadataSchema(request.schema);
  const identity = { manager, operation: 'Update', apiVersion, subresource } as const;
  if (before === undefined) {
    const fieldsV1 = fieldsOfNew(part, schema);
    return withManagedFields(
      after,
      Object.keys(fieldsV1).length === 0 ? [] : [entryOf(identity, fieldsV1, now)],
    );
  }
  const managers = managersGiven(before, after);
  const { added, modified, removed } = compareValues(ownedPart(before), part, schema);
  const gained = added.union(modified);
  const changed = gained.union(removed);
  if (changed.isEmpty()) return withManagedFields(after, writeManagers(boundUpdates(managers)));

  const own = managers.find(({ entry }) => isSameManager(entry, identity));
  const others = managers
    .filter((other) => other !== own)
    .map((other) => withFields(other, other.fields.outside(changed)));
  const fields = (own?.fields ?? FieldSet.empty).outside(removed).union(gained);
  return withManagedFields(after, writeManagers(boundUpdates([...others, actedNow(identity, fields, now)])));
}
