import { painted } from './terminal.js';

/** Rows under headings, in columns as wide as their longest cell. The last column is never padded. */
export function formatTable(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  stream: { readonly isTTY?: boolean } = process.stdout,
): string {
  const widths = columnWidths(headings, rows);
  return [
    painted('bold', formatRow(headings, widths), stream),
    ...rows.map((row) => formatRow(row, widths)),
  ].join('\n');
}

export const columnWidths = (headings: readonly string[], rows: readonly (readonly string[])[]): number[] =>
  headings.map((heading, index) =>
    rows.reduce((widest, row) => Math.max(widest, row[index]?.length ?? 0), heading.length),
  );

export const formatRow = (cells: readonly string[], widths: readonly number[]): string =>
  cells
    .map((cell, index) => (index === cells.length - 1 ? cell : cell.padEnd(widths[index] ?? 0)))
    .join('   ')
    .trimEnd();
