import type { BerthObject } from '../client/client.js';
import { pathIn, type ServedKind } from './kind-lookup.js';
import { formatTable } from './print-table.js';
import type { Session } from './session.js';
import { sorted } from './sort-objects.js';
import { cellsOf } from './table-cells.js';

/** Selects the events of one object. */
export const involving = (kind: ServedKind, name: string): string =>
  `involvedObject.kind=${kind.kind},involvedObject.name=${name}`;

/** The events of an object as a table; undefined if there are none. */
export async function eventsAbout(
  session: Session,
  kind: ServedKind,
  { metadata }: BerthObject,
): Promise<string | undefined> {
  const events = (await session.kinds()).find('events');
  // Events of what belongs to no namespace may be in any.
  const table = await session.client.table(pathIn(events, metadata.namespace), {
    fieldSelector: involving(kind, metadata.name),
    include: 'Object',
  });
  if (table.rows.length === 0) return undefined;
  const rows = sorted(table.rows, '.lastTimestamp');
  const cells = cellsOf({ ...table, rows }, { prefix: '', output: 'wide' });
  // The name of an event and the object it is about say nothing here.
  const isTold = cells.headings.map((heading) => heading !== 'NAME' && heading !== 'OBJECT');
  const told = (row: readonly string[]): string[] => row.filter((_, index) => isTold[index]);
  return formatTable(told(cells.headings), cells.rows.map(told));
}
