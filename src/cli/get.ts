import type { Command } from 'commander';
import type { BerthObject, ObjectTable } from '../client/client.js';
import { clientCommand } from './client-command.js';
import { usageFailure } from './command-failure.js';
import { type GetOptions, selectedBy } from './get-options.js';
import { KindLookup, pathIn } from './kind-lookup.js';
import { outputOption } from './option-values.js';
import { type Target, targetsOf } from './object-words.js';
import { formatTable } from './print-table.js';
import { inSession, type Session } from './session.js';
import { cellsOf } from './table-cells.js';
import { print, say } from './terminal.js';

export const getCommand = (): Command =>
  clientCommand(
    'get',
    'show objects: KIND [NAME…], KIND,KIND… or KIND/NAME…; `all` for all workloads and theirs',
  )
    .argument('<words...>', 'KIND [NAME…], KIND/NAME…, or all')
    .option('-A, --all-namespaces', 'look in every namespace')
    .option('-l, --selector <labels>', 'only objects with these labels: app=x,tier!=y')
    .option('--field-selector <fields>', 'only objects with these fields: metadata.name=x')
    .option('-w, --watch', 'go on and show every change')
    .option('--sort-by <path>', 'sort by a field: .metadata.creationTimestamp')
    .addOption(outputOption())
    .action((words: string[], options: GetOptions) =>
      inSession(options, (session) => showObjects(session, words, options)),
    );

export async function showObjects(
  session: Session,
  words: readonly string[],
  options: GetOptions,
): Promise<void> {
  const targets = targetsOf(words, await kindsFor(session, words));
  checkOptions(targets, options);
  if (options.watch === true) {
    const { watchObjects } = await import('./watch-objects.js');
    return watchObjects(session, targets, options);
  }
  if (options.output === 'json' || options.output === 'yaml') {
    const { printObjects } = await import('./print-objects.js');
    const lists = await Promise.all(targets.map((target) => objectsOf(session, target, options)));
    const objects = await inOrder(lists.flat(), options);
    const isOne = targets.length === 1 && targets[0]?.names.length === 1;
    return printObjects(objects, options.output, !isOne);
  }
  const tables = await Promise.all(targets.map((target) => tableOf(session, target, options)));
  const shown = targets.flatMap((target, index) => {
    const table = tables[index];
    return table === undefined || table.rows.length === 0 ? [] : [{ target, table }];
  });
  if (shown.length === 0) return say(nothingFound(session, targets, options));
  const ordered = await Promise.all(shown.map(({ table }) => inOrder(table.rows, options)));
  const blocks = shown.map(({ target, table }, index) => {
    const rows = ordered[index] ?? [];
    return options.output === 'name'
      ? rows.map(({ metadata }) => `${target.kind.singular}/${metadata.name}`).join('\n')
      : formatRows({ ...table, rows }, options, targets.length > 1 ? target.kind.singular : '');
  });
  print(blocks.join(options.output === 'name' ? '\n' : '\n\n'));
}

// Whoever types `get` waits for every file that is loaded and every answer before the first word. So what a plain
// table does not need is loaded when it is asked for, and no more kinds are read than it takes to know the words.

const kindsFor = (session: Session, words: readonly string[]): Promise<KindLookup> =>
  KindLookup.read(session.client, (found) => {
    try {
      return targetsOf(words, found).length > 0;
    } catch {
      return false;
    }
  });

async function inOrder<T extends BerthObject>(
  objects: readonly T[],
  { sortBy }: GetOptions,
): Promise<readonly T[]> {
  return sortBy === undefined ? objects : (await import('./sort-objects.js')).sorted(objects, sortBy);
}

function checkOptions(targets: readonly Target[], options: GetOptions): void {
  const named = targets.find(({ names }) => names.length > 0);
  if (named === undefined) return;
  const selection = options.selector === undefined ? options.fieldSelector : options.selector;
  if (selection !== undefined)
    throw usageFailure(
      `objects are asked for by name (${named.names[0]}) and by selector (${selection}); use one`,
    );
  if (options.allNamespaces === true && named.kind.isNamespaced)
    throw usageFailure(
      `${named.kind.singular} ${named.names[0]} has one namespace: name it with -n, without -A`,
    );
}

const namespaceFor = (session: Session, options: GetOptions): string | undefined =>
  options.allNamespaces === true ? undefined : session.namespace;

async function objectsOf(session: Session, target: Target, options: GetOptions): Promise<BerthObject[]> {
  const path = pathIn(target.kind, namespaceFor(session, options));
  if (target.names.length > 0) return Promise.all(target.names.map((name) => session.client.get(path, name)));
  const { items } = await session.client.list(path, selectedBy(options));
  return [...items];
}

async function tableOf(session: Session, target: Target, options: GetOptions): Promise<ObjectTable> {
  const path = pathIn(target.kind, namespaceFor(session, options));
  const include = options.sortBy === undefined ? ('Metadata' as const) : ('Object' as const);
  if (target.names.length === 0) return session.client.table(path, { ...selectedBy(options), include });
  const tables = await Promise.all(target.names.map((name) => session.client.table(path, { name, include })));
  return { columns: tables[0]?.columns ?? [], rows: tables.flatMap(({ rows }) => rows) };
}

function nothingFound(session: Session, targets: readonly Target[], options: GetOptions): string {
  const what = targets.map(({ kind }) => kind.plural).join(', ');
  const isInNamespace = options.allNamespaces !== true && targets.some(({ kind }) => kind.isNamespaced);
  return `no ${what}${isInNamespace ? ` in namespace ${session.namespace}` : ''}`;
}

function formatRows(table: ObjectTable, options: GetOptions, prefix: string): string {
  const { headings, rows } = cellsOf(table, { ...options, prefix });
  return formatTable(headings, rows);
}
