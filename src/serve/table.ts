import type { Column, KindDefinition } from '../model/kind.js';
import type { BerthObject } from '../model/object.js';
import { shownAge } from '../model/age.js';

/** How much of each object goes with its row. */
export type IncludeObject = 'None' | 'Metadata' | 'Object';

export interface TableColumn {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly description: string;
  readonly priority: number;
}

export interface TableRow {
  readonly cells: readonly (string | number | boolean)[];
  readonly object?: unknown;
}

export interface Table {
  readonly kind: 'Table';
  readonly apiVersion: 'meta.k8s.io/v1';
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly columnDefinitions: readonly TableColumn[];
  readonly rows: readonly TableRow[];
}

const nameColumn: TableColumn = {
  name: 'Name',
  type: 'string',
  format: 'name',
  description: 'The name of the object, unique among its kind in its tenant.',
  priority: 0,
};

export function tableColumns(kind: KindDefinition): TableColumn[] {
  return [
    nameColumn,
    ...kind.columns.map(({ name, type, description, priority }) => ({
      name,
      // A date is shown as an age, which is a string.
      type: type === 'date' ? 'string' : type,
      format: '',
      description,
      priority,
    })),
  ];
}

/** Objects as a table that clients print as it is. `nowMs` is the server's wall time, for ages. */
export function tableOf(
  kind: KindDefinition,
  objects: readonly BerthObject[],
  options: {
    include: IncludeObject;
    nowMs: number;
    metadata?: Readonly<Record<string, unknown>>;
    withColumns?: boolean;
  },
): Table {
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata: options.metadata ?? {},
    columnDefinitions: options.withColumns === false ? [] : tableColumns(kind),
    rows: objects.map((object) => ({
      cells: [object.metadata.name, ...kind.columns.map((column) => cellOf(column, object, options.nowMs))],
      ...rowObject(object, options.include),
    })),
  };
}

function rowObject(object: BerthObject, include: IncludeObject): { object?: unknown } {
  switch (include) {
    case 'None':
      return {};
    case 'Object':
      return { object };
    case 'Metadata':
      return {
        object: { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata },
      };
  }
}

function cellOf(column: Column, object: BerthObject, nowMs: number): string | number | boolean {
  const value = typeof column.value === 'string' ? valueAt(object, column.value) : column.value(object);
  if (value === undefined || value === null)
    return column.type === 'integer' || column.type === 'number' ? 0 : '<none>';
  if (column.type === 'date') {
    const atMs = typeof value === 'string' ? Date.parse(value) : Number.NaN;
    return Number.isNaN(atMs) ? '<unknown>' : shownAge(nowMs - atMs);
  }
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'string') return value;
  return JSON.stringify(value);
}

/** Follows a simple path: .spec.replicas */
export function valueAt(object: unknown, path: string): unknown {
  let value = object;
  for (const name of path.split('.').filter((part) => part !== '')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}
