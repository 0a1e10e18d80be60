import { BerthError } from '../model/errors.js';
import type { BerthObject } from '../model/object.js';

/** A column of a table, as the server describes it. */
export interface TableColumn {
  readonly name: string;
  readonly type: string;
  readonly description: string;
  /** 0 is always shown, the others where there is room. */
  readonly priority: number;
}

/** An object, or its metadata alone, with the cells that the server shows of it. */
export interface ObjectRow extends BerthObject {
  readonly cells: readonly (string | number | boolean)[];
}

/** Objects as the server shows them. */
export interface ObjectTable {
  readonly columns: readonly TableColumn[];
  readonly rows: readonly ObjectRow[];
}

/** The form in which tables are asked for. */
export const tableMediaType = 'application/json;as=Table;v=v1;g=meta.k8s.io';

interface TableAnswer {
  readonly kind: unknown;
  readonly columnDefinitions: readonly TableColumn[];
  readonly rows: readonly { readonly cells: ObjectRow['cells']; readonly object: BerthObject }[];
}

/** A table as the server sends it, with each row joined to its object. */
export function tableIn(answer: unknown): ObjectTable {
  const { kind, columnDefinitions, rows } = answer as TableAnswer;
  if (kind !== 'Table')
    throw new BerthError('InternalError', `a table was asked for, and the answer is a ${String(kind)}`);
  return { columns: columnDefinitions, rows: rows.map(({ cells, object }) => ({ ...object, cells })) };
}

/** The one row of a table that a watch sends for a change. */
export function rowIn(answer: unknown): ObjectRow {
  const [row] = tableIn(answer).rows;
  if (row === undefined) throw new BerthError('InternalError', 'an event of the watch has no row');
  return row;
}
