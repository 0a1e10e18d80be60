type Row = Readonly<Record<string, unknown>>;

/** What all rows have in a field; or what each has, null where one has nothing; or what a field of other rows has. */
type Column = { readonly all: unknown } | readonly unknown[] | { readonly as: string };

/** A list of records field by field: their names, and whatever is the same in all of them, stand once. */
export interface PackedRows {
  readonly count: number;
  readonly columns: Readonly<Record<string, Column>>;
}

/**
 * Undefined where some of it would not come back: rows that are no records, and null. `others` are rows whose fields
 * need not be written again where these have the same, row by row.
 */
export function packedRows(rows: readonly unknown[], others?: readonly Row[]): PackedRows | undefined {
  const names: string[] = [];
  for (const row of rows) {
    if (typeof row !== 'object' || row === null || Array.isArray(row)) return undefined;
    let at = 0;
    // Nearly all rows have the fields of the first, in its order: one comparison for each.
    for (const name in row) if (names[at++] !== name && !names.includes(name)) names.push(name);
  }
  const isAlike = others !== undefined && others.length === rows.length;
  const columns: Record<string, Column> = {};
  for (const name of names) {
    // Each was looked at above.
    const values = rows.map((row) => (row as Row)[name]);
    if (values.includes(null)) return undefined;
    const isOne = values.every((value) => value === values[0]);
    const as = isAlike && !isOne ? fieldWith(others, values) : undefined;
    columns[name] = as !== undefined ? { as } : isOne ? { all: values[0] } : values;
  }
  return { count: rows.length, columns };
}

export function unpackedRows({ count, columns }: PackedRows, others: readonly Row[] = []): Row[] {
  const rows: Record<string, unknown>[] = Array.from({ length: count }, () => ({}));
  for (const [name, column] of Object.entries(columns))
    for (const [at, row] of rows.entries()) {
      const value = isEach(column) ? column[at] : 'all' in column ? column.all : others[at]?.[column.as];
      if (value !== null && value !== undefined) row[name] = value;
    }
  return rows;
}

/** Whether a row has this value in a field that does not stand elsewhere. */
export function hasInColumn({ count, columns }: PackedRows, name: string, value: string): boolean {
  const column = columns[name];
  if (column === undefined || count === 0) return false;
  return isEach(column) ? column.includes(value) : 'all' in column && column.all === value;
}

const isEach = (column: Column): column is readonly unknown[] => Array.isArray(column);

function fieldWith(rows: readonly Row[], values: readonly unknown[]): string | undefined {
  for (const name in rows[0]) if (rows.every((row, at) => row[name] === values[at])) return name;
  return undefined;
}
