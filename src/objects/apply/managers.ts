import type { ManagedFieldsEntry } from '../../model/object.js';
import { FieldSet, type FieldsV1 } from './field-set.js';
import { isRecord, own } from './schema-facts.js';

/** One entry of managedFields with its fields decoded. */
export interface Manager {
  readonly entry: ManagedFieldsEntry;
  readonly fields: FieldSet;
}

export type ManagerIdentity = Pick<ManagedFieldsEntry, 'manager' | 'operation' | 'apiVersion'> & {
  readonly subresource?: string | undefined;
};

/**
 * Who applies in another version is the same manager, so that what it leaves out there is still given up; whoever
 * updates in another version is not, because nothing is ever given up by updating.
 */
export function isSameManager(a: ManagerIdentity, b: ManagerIdentity): boolean {
  return (
    a.manager === b.manager &&
    a.operation === b.operation &&
    (a.subresource ?? '') === (b.subresource ?? '') &&
    (a.operation === 'Apply' || a.apiVersion === b.apiVersion)
  );
}

/** As long as a client may name itself; it keeps the entries small. */
export const managerLengthMax = 128;
const timestamp = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/;

/** A time that is none would keep clients from reading the object at all. */
function isEntry(value: unknown): value is ManagedFieldsEntry {
  const manager = own(value, 'manager');
  const operation = own(value, 'operation');
  const time = own(value, 'time');
  return (
    typeof manager === 'string' &&
    manager.length <= managerLengthMax &&
    (operation === 'Apply' || operation === 'Update') &&
    typeof own(value, 'apiVersion') === 'string' &&
    (time === undefined || (typeof time === 'string' && timestamp.test(time))) &&
    ['undefined', 'string'].includes(typeof own(value, 'subresource')) &&
    own(value, 'fieldsType') === 'FieldsV1' &&
    isRecord(own(value, 'fieldsV1'))
  );
}

/** Undefined when this is no list of entries. Entries of one manager become one. */
export function readManagers(managedFields: unknown): readonly Manager[] | undefined {
  if (!Array.isArray(managedFields)) return undefined;
  const managers: Manager[] = [];
  for (const entry of managedFields as unknown[]) {
    if (!isEntry(entry)) return undefined;
    const fields = FieldSet.fromFieldsV1(entry.fieldsV1);
    const index = managers.findIndex((manager) => isSameManager(manager.entry, entry));
    const earlier = managers[index];
    if (earlier === undefined) managers.push({ entry, fields });
    else managers[index] = withFields(earlier, earlier.fields.union(fields));
  }
  return managers;
}

/** The manager with other fields. Its time stays: what others took from it is not its own doing. */
export function withFields(manager: Manager, fields: FieldSet): Manager {
  if (manager.fields.equals(fields)) return manager;
  return { entry: { ...manager.entry, fieldsV1: fields.toFieldsV1() }, fields };
}

/** The manager after an operation of its own, which changed its fields or their values. */
export function actedNow(identity: ManagerIdentity, fields: FieldSet, now: string): Manager {
  return { entry: entryOf(identity, fields.toFieldsV1(), now), fields };
}

/** What managedFields say of a manager that has acted now. */
export function entryOf(identity: ManagerIdentity, fieldsV1: FieldsV1, now: string): ManagedFieldsEntry {
  const { manager, operation, apiVersion, subresource } = identity;
  return {
    manager,
    operation,
    apiVersion,
    time: now,
    fieldsType: 'FieldsV1',
    fieldsV1,
    ...(subresource === undefined || subresource === '' ? {} : { subresource }),
  };
}

const sortKeys = ['operation', 'time', 'manager', 'apiVersion', 'subresource'] as const;

function compareEntries(a: ManagedFieldsEntry, b: ManagedFieldsEntry): number {
  for (const key of sortKeys) {
    const left = a[key] ?? '';
    const right = b[key] ?? '';
    if (left !== right) return left < right ? -1 : 1;
  }
  return 0;
}

/** Appliers first, then updaters, the oldest first. Who manages nothing any more has no entry. */
export function writeManagers(managers: readonly Manager[]): readonly ManagedFieldsEntry[] {
  return managers
    .filter(({ fields }) => !fields.isEmpty())
    .map(({ entry }) => entry)
    .toSorted(compareEntries);
}
