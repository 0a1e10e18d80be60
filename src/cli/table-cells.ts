import type { ObjectRow, ObjectTable } from '../client/client.js';

/** What a table is to show of its objects. */
export interface TableLook {
  readonly allNamespaces?: boolean;
  readonly output?: string;
  /** Stands before each name, where objects of several kinds are shown. */
  readonly prefix: string;
}

/** The columns that are shown, with their headings and what each row has in them. */
export function cellsOf(
  { columns, rows }: ObjectTable,
  options: TableLook,
): { headings: string[]; rows: string[][] } {
  const isShown = columns.map(({ priority }) => priority === 0 || options.output === 'wide');
  const hasNamespace =
    options.allNamespaces === true && rows.some(({ metadata }) => metadata.namespace !== undefined);
  const cells = ({ cells: all, metadata }: ObjectRow): string[] => [
    ...(hasNamespace ? [metadata.namespace ?? ''] : []),
    ...all
      .map((cell, index) =>
        index === 0 && options.prefix !== '' ? `${options.prefix}/${cell}` : String(cell),
      )
      .filter((_, index) => isShown[index]),
  ];
  const headings = columns.filter((_, index) => isShown[index]).map(({ name }) => name.toUpperCase());
  return { headings: [...(hasNamespace ? ['NAMESPACE'] : []), ...headings], rows: rows.map(cells) };
}
