import type { FollowEvent, BerthObject } from '../client/client.js';
import { usageFailure } from './command-failure.js';
import { type GetOptions, selectedBy } from './get-options.js';
import { pathIn } from './kind-lookup.js';
import type { Target } from './object-words.js';
import { formatValue, readable } from './print-objects.js';
import { columnWidths, formatRow } from './print-table.js';
import type { Session } from './session.js';
import { cellsOf } from './table-cells.js';
import { print, say } from './terminal.js';

/** `get -w`: what there is, then every change, until it is interrupted. */
export async function watchObjects(
  session: Session,
  targets: readonly Target[],
  options: GetOptions,
): Promise<void> {
  const [target, ...others] = targets;
  if (target === undefined || others.length > 0) throw usageFailure('-w follows one kind at a time');
  if (target.names.length > 1) throw usageFailure('-w follows one object or all of a kind; use -l for some');
  if (options.sortBy !== undefined) throw usageFailure('--sort-by and -w do not go together');
  const { client } = session;
  const path = pathIn(target.kind, options.allNamespaces === true ? undefined : session.namespace);
  const [name] = target.names;
  // An object that is not there is an error, as it is without -w.
  if (name !== undefined) await client.get(path, name);
  const selection = name === undefined ? selectedBy(options) : { fieldSelector: `metadata.name=${name}` };
  const onFailure = (error: unknown): void => say(`watch interrupted, going on: ${(error as Error).message}`);

  if (options.output === 'json' || options.output === 'yaml') {
    const separator = options.output === 'yaml' ? '---\n' : '';
    for await (const event of client.listThenWatch(path, { ...selection, onFailure })) {
      const object = toldOf(event);
      if (object !== undefined) print(separator + (await formatValue(readable(object), options.output)));
    }
    return;
  }
  const { columns } = await client.table(path, { ...selection, pageSize: 1 });
  let widths: number[] | undefined;
  for await (const event of client.listThenWatchTable(path, { ...selection, onFailure })) {
    const row = toldOf(event);
    if (row === undefined) continue;
    if (options.output === 'name') {
      print(`${target.kind.singular}/${row.metadata.name}`);
      continue;
    }
    const { headings, rows } = cellsOf({ columns, rows: [row] }, { ...options, prefix: '' });
    if (widths === undefined) print(formatRow(headings, columnWidths(headings, rows)));
    widths = columnWidths(headings, rows).map((width, index) => Math.max(width, widths?.[index] ?? 0));
    print(formatRow(rows[0] ?? [], widths));
  }
}

/** What an event shows; one that has gone is shown as it last was. */
const toldOf = <T extends BerthObject>(event: FollowEvent<T>): T | undefined =>
  event.type === 'SYNCED' ? undefined : event.object;
